#include <algorithm>
#include <limits>

#include "ops/arg/arg.h"
#include "ops/common/importing.h"
#include "ops/common/narrow.h"
#include "ops/common/rank0.h"

namespace qc {
namespace {

template <OpName kName>
Result<Values> onnx_arg(Import& m) {
  QC_ASSIGN(const int64_t axis, m.i("axis", 0));
  QC_ASSIGN(const bool keepdims, m.b("keepdims", true));
  QC_ASSIGN(const bool last, m.b("select_last_index", false));
  return one(m.emit(kName.text, {m.in(0)},
                    {{"axis", axis}, {"keepdims", keepdims}, {"select_last", last}}));
}

Result<Values> sorted(const Import& m, Value* x, int64_t axis, const Dim& k, bool descending) {
  return m.emit_all("sort", {x}, {{"axis", axis}, {"k", k}, {"descending", descending}});
}

/// k is an attribute up to version 9.
Result<Values> onnx_topk(Import& m) {
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(const int64_t axis, m.i("axis", -1));
  QC_ASSIGN(const bool largest, m.b("largest", true));
  if (m.version() < 10) {
    QC_ASSIGN(const int64_t k, m.i("k", 0));
    return sorted(m, x, axis, Dim(k), largest);
  }
  QC_ASSIGN(Value * operand_k, operand(m, 1));
  QC_ASSIGN(const Dims k, m.known(operand_k, "k"));
  if (k.size() != 1) return m.fail(Code::shape, "k has {} elements, expected one", k.size());
  return sorted(m, x, axis, k[0], largest);
}

/// Without an axis the flattened operand counts.
template <OpName kName>
Result<Values> aten_arg(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const bool keepdims, m.b("keepdim", false));
  if (m.given("dim") && x->rank() > 0) {
    QC_ASSIGN(const int64_t axis, m.i("dim", 0));
    return one(m.emit(kName.text, {x}, {{"axis", axis}, {"keepdims", keepdims}}));
  }
  const Dims ones(keepdims ? x->shape().size() : 0, Dim(1));
  QC_ASSIGN(x, m.emit("reshape", {x}, {{"shape", Dims{product(x->shape())}}}));
  QC_ASSIGN(Value * y, m.emit(kName.text, {x}, {{"axis", int64_t{0}}, {"keepdims", false}}));
  return one(m.emit("reshape", {y}, {{"shape", ones}}));
}

/// A rank-0 tensor sorts like a list of one.
Result<Values> sort_any_rank(const Import& m, Value* x, int64_t axis, const Dim* k,
                             bool descending) {
  if (x->rank() > 0) {
    QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
    return sorted(m, x, axis, k ? *k : x->shape()[static_cast<size_t>(axis)], descending);
  }
  QC_ASSIGN(x, m.emit("reshape", {x}, {{"shape", Dims{1}}}));
  QC_ASSIGN(Values out, sorted(m, x, 0, Dim(1), descending));
  for (Value*& v : out) {
    QC_ASSIGN(v, m.emit("reshape", {v}, {{"shape", Dims{}}}));
  }
  return out;
}

Result<Values> aten_topk(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const Dim k, m.dim("k", Dim(1)));
  QC_ASSIGN(const int64_t axis, m.i("dim", -1));
  QC_ASSIGN(const bool largest, m.b("largest", true));
  return sort_any_rank(m, x, axis, &k, largest);
}

Result<Values> aten_sort(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const int64_t axis, m.i("dim", -1));
  QC_ASSIGN(const bool descending, m.b("descending", false));
  return sort_any_rank(m, x, axis, nullptr, descending);
}

Result<Values> aten_argsort(Import& m) {
  QC_ASSIGN(Values out, aten_sort(m));
  return Values{out[1]};
}

/// Element `rank` of each sorted row and its position.
Result<Values> of_rank(const Import& m, Value* x, int64_t axis, const Dim& rank, bool keepdims) {
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  QC_ASSIGN(Values out, sorted(m, x, axis, rank + Dim(1), false));
  Dims start(x->shape().size(), 0), size = x->shape();
  start[static_cast<size_t>(axis)] = rank;
  size[static_cast<size_t>(axis)] = Dim(1);
  Dims shape = size;
  if (!keepdims) shape.erase(shape.begin() + axis);
  for (Value*& v : out) {
    QC_ASSIGN(v, m.emit("slice", {v},
                        {{"start", start}, {"size", size}, {"step", Dims(start.size(), 1)}}));
    QC_ASSIGN(v, m.emit("reshape", {v}, {{"shape", shape}}));
  }
  return out;
}

Result<Values> aten_kthvalue(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const Dim k, m.dim("k", Dim(1)));
  QC_ASSIGN(const int64_t axis, m.i("dim", -1));
  QC_ASSIGN(const bool keepdims, m.b("keepdim", false));
  return of_rank(m, x, axis, k - Dim(1), keepdims);
}

/// `out` as PyTorch has it for rows with a NaN: the first of these and its position.
Result<Ok> let_nan_win(const Import& m, Value* x, int64_t axis, bool keepdims, Values& out) {
  if (!is_float(x->dtype())) return Ok{};
  QC_ASSIGN(Value * bad, m.emit("isnan", {x}));
  QC_ASSIGN(Value * any,
            m.emit("reduce_any", {bad}, {{"axes", Ints{axis}}, {"keepdims", keepdims}}));
  QC_ASSIGN(bad, m.cast(bad, DType::i32));
  QC_ASSIGN(Value * position, m.emit("argmax", {bad}, {{"axis", axis}, {"keepdims", keepdims}}));
  QC_ASSIGN(out[0],
            m.emit("where",
                   {any, m.scalar(std::numeric_limits<double>::quiet_NaN(), x->dtype()), out[0]}));
  QC_ASSIGN(out[1], m.emit("where", {any, position, out[1]}));
  return Ok{};
}

/// The lower median; of all elements without `dim`.
Result<Values> aten_median(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const bool keepdims, m.b("keepdim", false));
  QC_ASSIGN(int64_t axis, m.i("dim", 0));
  if (!m.given("dim")) {
    QC_ASSIGN(x, m.emit("reshape", {x}, {{"shape", Dims{product(x->shape())}}}));
  }
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  const Dim n = x->shape()[static_cast<size_t>(axis)];
  QC_ASSIGN(Values out, of_rank(m, x, axis, floordiv(n - Dim(1), Dim(2)), keepdims));
  QC_TRY(let_nan_win(m, x, axis, keepdims, out));
  return m.given("dim") ? out : Values{out[0]};
}

Result<Values> aten_histc(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const int64_t bins, m.i("bins", 100));
  QC_ASSIGN(const double low, m.f("min", 0));
  QC_ASSIGN(const double high, m.f("max", 0));
  return one(m.emit("histogram", {x}, {{"bins", bins}, {"low", low}, {"high", high}}));
}

/// How many boundaries lie below each value (at or below it with `right`); all below NaN. With
/// several axes, every row of values has its own row of boundaries.
Result<Values> count_below(const Import& m, Value* x, Value* boundaries, bool right) {
  QC_ASSIGN(const bool narrow, m.b("out_int32", false));
  const DType type = promote(x->dtype(), boundaries->dtype());
  QC_ASSIGN(x, m.cast(x, type));
  QC_ASSIGN(boundaries, m.cast(boundaries, type));
  Dims shape = x->shape(), rows = boundaries->shape();
  if (rows.empty()) return m.fail(Code::shape, "boundaries without an axis");
  if (rows.size() > 1) {
    if (rows.size() != shape.size() ||
        !std::equal(rows.begin(), rows.end() - 1, shape.begin(), shape.end() - 1))
      return m.fail(Code::shape, "boundaries {} of values {}", str(rows), str(shape));
    rows.insert(rows.end() - 1, Dim(1));
    QC_ASSIGN(boundaries, m.emit("reshape", {boundaries}, {{"shape", rows}}));
  }
  shape.push_back(Dim(1));
  QC_ASSIGN(x, m.emit("reshape", {x}, {{"shape", shape}}));
  QC_ASSIGN(Value * below, m.emit(right ? "gt" : "ge", {boundaries, x}));
  QC_ASSIGN(below, m.emit("logical_not", {below}));
  QC_ASSIGN(below, m.cast(below, narrow ? DType::i32 : DType::i64));
  return one(m.emit("reduce_sum", {below}, {{"axes", Ints{-1}}, {"keepdims", false}}));
}
Result<Values> aten_bucketize(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * boundaries, m.tensor("boundaries"));
  QC_ASSIGN(const bool right, m.b("right", false));
  return count_below(m, x, boundaries, right);
}
Result<Values> aten_searchsorted(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * boundaries, m.tensor("sorted_sequence"));
  QC_ASSIGN(Value * order, m.optional_tensor("sorter"));
  QC_ASSIGN(const bool right, m.b("right", false));
  QC_ASSIGN(const std::string side, m.s("side", "left"));
  if (order) {
    QC_ASSIGN(boundaries, m.emit("gather_elements", {boundaries, order},
                                 {{"axis", std::max<int64_t>(boundaries->rank() - 1, 0)}}));
  }
  return count_below(m, x, boundaries, right || side == "right");
}

constexpr ImportRow kRows[] = {
    {"", "ArgMax", onnx_arg<"argmax">},
    {"", "ArgMin", onnx_arg<"argmin">},
    {"", "TopK", onnx_topk},
    {"aten", "argmax.default", aten_arg<"argmax">},
    {"aten", "argmin.default", aten_arg<"argmin">},
    {"aten", "topk.default", aten_topk},
    {"aten", "sort.default", aten_sort},
    {"aten", "sort.stable", aten_sort},
    {"aten", "argsort.default", aten_argsort},
    {"aten", "argsort.stable", aten_argsort},
    {"aten", "kthvalue.default", rank0_as_list<aten_kthvalue>},
    {"aten", "median.default", aten_median},
    {"aten", "median.dim", rank0_as_list<aten_median>},
    {"aten", "histc.default", in_f32<aten_histc>},
    {"aten", "bucketize.Tensor", aten_bucketize},
    {"aten", "bucketize.Scalar", aten_bucketize},
    {"aten", "searchsorted.Tensor", aten_searchsorted},
    {"aten", "searchsorted.Scalar", aten_searchsorted},
};

}  // namespace

std::span<const ImportRow> arg_rows() { return kRows; }

}  // namespace qc
