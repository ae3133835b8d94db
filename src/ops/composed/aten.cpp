// Small ops that are a line or two of others: PyTorch's.
#include <algorithm>

#include "ops/common/compose.h"
#include "ops/common/importing.h"
#include "ops/common/narrow.h"
#include "ops/composed/composed.h"

namespace qc {
namespace {

/// The product of both operands, each scaled to length 1 along an axis, summed along it.
Result<Values> aten_cosine_similarity(Import& m) {
  Compose c(m);
  auto [a, b] = c.take(m.promoted("x1", "x2"));
  const Ints axes{c.take(m.i("dim", 1))};
  const double eps = c.take(m.f("eps", 1e-8));
  if (!c.ok()) return c.done({});
  if (a->rank() == 0 && b->rank() == 0) a = c.reshape(a, {Dim(1)});
  QC_ASSIGN(const Dims common, broadcast(a->shape(), b->shape(), m.loc()));
  auto direction = [&](Value* x) {
    if (!(x->shape() == common)) x = c.emit("expand", {x}, {{"shape", common}});
    Value* length = c.emit("reduce_l2", {x}, {{"axes", axes}, {"keepdims", true}});
    return c.emit("div", {x, c.emit("clamp", {length}, {{"lo", eps}})});
  };
  Value* product = c.emit("mul", {direction(a), direction(b)});
  return c.done({c.emit("reduce_sum", {product}, {{"axes", axes}, {"keepdims", false}})});
}

/// The norm of order p of x1 - x2 + eps along the last axis.
Result<Values> aten_pairwise_distance(Import& m) {
  Compose c(m);
  auto [a, b] = c.take(m.promoted("x1", "x2"));
  const double p = c.take(m.f("p", 2)), eps = c.take(m.f("eps", 1e-6));
  const bool keep = c.take(m.b("keepdim", false));
  if (c.ok() && p != 1 && p != 2) return m.fail(Code::unsupported, "a distance of order {}", p);
  Value* apart = c.emit("sub", {a, b});
  if (c.ok() && !is_float(apart->dtype())) apart = c.cast(apart, DType::f32);
  apart = c.emit("add", {apart, c.number(eps, apart)});
  return c.done({c.emit(p == 1 ? "reduce_l1" : "reduce_l2", {apart},
                        {{"axes", Ints{-1}}, {"keepdims", keep}})});
}

/// The norm of order 1 or 2 of the difference of every row of x1 to every row of x2.
Result<Values> aten_cdist(Import& m) {
  Compose c(m);
  auto [a, b] = c.take(m.promoted("x1", "x2"));
  const double p = c.take(m.f("p", 2));
  if (!c.ok()) return c.done({});
  if (a->rank() < 2 || b->rank() < 2)
    return m.fail(Code::shape, "distances of {} and {}", str(a->shape()), str(b->shape()));
  if (p != 1 && p != 2) return m.fail(Code::unsupported, "a distance of order {}", p);
  Dims rows = a->shape(), columns = b->shape();
  rows.insert(rows.end() - 1, Dim(1));
  columns.insert(columns.end() - 2, Dim(1));
  Value* apart = c.emit("sub", {c.reshape(a, rows), c.reshape(b, columns)});
  return c.done({c.emit(p == 1 ? "reduce_l1" : "reduce_l2", {apart},
                        {{"axes", Ints{-1}}, {"keepdims", false}})});
}

/// Equal, or both finite and apart by at most atol + rtol |other|.
Result<Values> aten_isclose(Import& m) {
  Compose c(m);
  auto [a, b] = c.take(m.promoted("self", "other"));
  const double rtol = c.take(m.f("rtol", 1e-5)), atol = c.take(m.f("atol", 1e-8));
  const bool equal_nan = c.take(m.b("equal_nan", false));
  if (!c.ok()) return c.done({});
  Value* same = c.emit("eq", {a, b});
  if (!is_float(a->dtype())) a = c.cast(a, DType::f32), b = c.cast(b, DType::f32);
  if (equal_nan)
    same = c.emit("logical_or",
                  {same, c.emit("logical_and", {c.emit("isnan", {a}), c.emit("isnan", {b})})});
  Value* apart = c.emit("abs", {c.emit("sub", {a, b})});
  Value* allowed = c.emit("abs", {c.emit("mul", {c.number(rtol, b), b})});
  allowed = c.emit("add", {c.number(atol, b), allowed});
  Value* near =
      c.emit("logical_and", {c.emit("isfinite", {apart}), c.emit("le", {apart, allowed})});
  return c.done({c.emit("logical_or", {same, near})});
}

/// Every element of the first operand times the whole second.
Result<Values> aten_kron(Import& m) {
  Compose c(m);
  auto [a, b] = c.take(m.promoted("self", "other"));
  if (!c.ok()) return c.done({});
  const size_t rank = std::max(a->shape().size(), b->shape().size());
  Dims outer, inner, result;
  for (size_t i = 0; i < rank; ++i) {
    auto dim = [&](const Dims& shape) {
      return i + shape.size() < rank ? Dim(1) : shape[i + shape.size() - rank];
    };
    outer.insert(outer.end(), {dim(a->shape()), Dim(1)});
    inner.insert(inner.end(), {Dim(1), dim(b->shape())});
    result.push_back(dim(a->shape()) * dim(b->shape()));
  }
  const char* times = a->dtype() == DType::boolean ? "logical_and" : "mul";
  return c.done({c.reshape(c.emit(times, {c.reshape(a, outer), c.reshape(b, inner)}), result)});
}

/// Outside training a leaky relu with the slope in the middle, whatever the noise is.
Result<Values> aten_rrelu(Import& m) {
  Compose c(m);
  Value* x = c.take(m.tensor("self"));
  const double lower = c.take(m.f("lower", 0.125)), upper = c.take(m.f("upper", 1.0 / 3));
  if (c.take(m.b("training", false)))
    return m.fail(Code::unsupported, "rrelu in training mode; export the model after .eval()");
  if (m.wants(1)) return m.fail(Code::unsupported, "the noise of rrelu cannot be read");
  return c.done({c.emit("leaky_relu", {x}, {{"alpha", (lower + upper) / 2}})});
}

Result<Values> aten_int_mm(Import& m) {
  Compose c(m);
  Value* a = c.take(m.tensor("self"));
  Value* b = c.take(m.tensor("mat2"));
  return c.done({c("MatMulInteger", {a, b})});
}

/// Whether each element is among others.
Result<Values> isin(const Import& m, const char* elements, const char* others) {
  Compose c(m);
  auto [x, among] = c.take(m.promoted(elements, others));
  const bool invert = c.take(m.b("invert", false));
  if (!c.ok()) return c.done({});
  Dims single = x->shape();
  single.push_back(Dim(1));
  Value* same = c.emit("eq", {c.reshape(x, single), c.reshape(among, {product(among->shape())})});
  Value* found = c.emit("reduce_any", {same}, {{"axes", Ints{-1}}, {"keepdims", false}});
  return c.done({invert ? c.emit("logical_not", {found}) : found});
}
Result<Values> aten_isin(Import& m) { return isin(m, "elements", "test_elements"); }
Result<Values> aten_isin_number(Import& m) { return isin(m, "elements", "test_element"); }
Result<Values> aten_isin_of_number(Import& m) { return isin(m, "element", "test_elements"); }

/// The product of vectors of three along an axis, which is the first of that size by default.
Result<Values> aten_cross(Import& m) {
  Compose c(m);
  auto [a, b] = c.take(m.promoted("self", "other"));
  if (!c.ok()) return c.done({});
  QC_ASSIGN(const Dims shape, broadcast(a->shape(), b->shape(), m.loc()));
  const auto three = std::find(shape.begin(), shape.end(), Dim(3));
  const bool first = m.node().op == "cross.default";
  int64_t axis = c.take(m.i("dim", first ? three - shape.begin() : -1));
  QC_ASSIGN(axis, resolve_axis(axis, static_cast<int64_t>(shape.size()), m.loc()));
  if (!(shape[static_cast<size_t>(axis)] == Dim(3)))
    return m.fail(Code::shape, "cross product along axis {} of {}", axis, str(shape));
  auto transposed = [&](Value* x, const Ints& order) {
    if (!(x->shape() == shape)) x = c.emit("expand", {x}, {{"shape", shape}});
    return c.emit("gather", {x, c.ints(order)}, {{"axis", axis}});
  };
  Value* left = c.emit("mul", {transposed(a, {1, 2, 0}), transposed(b, {2, 0, 1})});
  Value* right = c.emit("mul", {transposed(a, {2, 0, 1}), transposed(b, {1, 2, 0})});
  return c.done({c.emit("sub", {left, right})});
}

constexpr ImportRow kComposedAtenRows[] = {
    {"aten", "isin.Tensor_Tensor", aten_isin},
    {"aten", "isin.Tensor_Scalar", aten_isin_number},
    {"aten", "isin.Scalar_Tensor", aten_isin_of_number},
    {"aten", "linalg_cross.default", in_f32<aten_cross>},
    {"aten", "cross.default", in_f32<aten_cross>},
    {"aten", "cosine_similarity.default", aten_cosine_similarity},
    {"aten", "pairwise_distance.default", aten_pairwise_distance},
    {"aten", "cdist.default", aten_cdist},
    {"aten", "_cdist_forward.default", aten_cdist},
    {"aten", "isclose.default", aten_isclose},
    {"aten", "kron.default", aten_kron},
    {"aten", "rrelu.default", aten_rrelu},
    {"aten", "rrelu_with_noise_functional.default", aten_rrelu},
    {"aten", "_int_mm.default", aten_int_mm},
};

}  // namespace

std::span<const ImportRow> composed_aten_rows() { return kComposedAtenRows; }

}  // namespace qc
