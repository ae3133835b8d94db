#include <numeric>

#include "ops/common/compose.h"
#include "ops/common/indexing.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/gather/gather.h"

namespace qc {
namespace {

Result<Values> single(Result<Value*> value) {
  QC_ASSIGN(Value * v, std::move(value));
  return Values{v};
}

Result<Value*> integer(const Import& m, Value* index) {
  if (index->dtype() == DType::i32) return index;
  return m.cast(index, DType::i64);
}

Result<Value*> gather(const Import& m, Value* x, Value* index, int64_t axis) {
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  QC_ASSIGN(index, integer(m, index));
  return m.emit("gather", {x, index}, {{"axis", axis}});
}

Result<Value*> gather_elements(const Import& m, Value* x, Value* index, int64_t axis) {
  const Dims shape = index->shape();
  if (x->rank() == 0) {
    QC_ASSIGN(x, reshaped(m, x, {Dim(1)}));
  }
  if (index->rank() == 0) {
    QC_ASSIGN(index, reshaped(m, index, {Dim(1)}));
  }
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  QC_ASSIGN(index, integer(m, index));
  QC_ASSIGN(Value * y, m.emit("gather_elements", {x, index}, {{"axis", axis}}));
  return reshaped(m, y, shape);
}

Result<Values> onnx_gather(Import& m) {
  QC_ASSIGN(int64_t axis, m.i("axis", 0));
  return single(gather(m, m.in(0), m.in(1), axis));
}

Result<Values> onnx_gather_elements(Import& m) {
  QC_ASSIGN(int64_t axis, m.i("axis", 0));
  return single(gather_elements(m, m.in(0), m.in(1), axis));
}

Result<Values> onnx_gather_nd(Import& m) {
  QC_ASSIGN(int64_t batch, m.i("batch_dims", 0));
  QC_ASSIGN(Value * index, integer(m, m.in(1)));
  return single(m.emit("gather_nd", {m.in(0), index}, {{"batch_dims", batch}}));
}

/// The slices along an axis (the elements, without one) where a constant condition holds.
Result<Values> onnx_compress(Import& m) {
  Value* x = m.in(0);
  QC_ASSIGN(Tensor condition, m.constant(m.in(1), "the condition"));
  int64_t axis = 0;
  if (m.given("axis")) {
    QC_ASSIGN(axis, m.i("axis", 0));
  } else {
    QC_ASSIGN(x, reshaped(m, x, {product(x->shape())}));
  }
  Ints positions;
  for (int64_t i = 0; i < condition.size(); ++i) {
    if (condition.as_int(i) != 0) positions.push_back(i);
  }
  return single(gather(m, x, m.int_list(positions), axis));
}

/// The first lengths[b] elements along the time axis in reverse order, the others as they are.
Result<Values> onnx_reverse_sequence(Import& m) {
  Value* x = m.in(0);
  QC_ASSIGN(int64_t time, m.i("time_axis", 0));
  QC_ASSIGN(int64_t batch, m.i("batch_axis", 1));
  QC_ASSIGN(Ints lengths, m.known_static(m.in(1), "sequence lengths"));
  if (x->rank() < 2 || time + batch != 1 || time * batch != 0) {
    return m.fail(Code::attribute, "time axis {} and batch axis {} of rank {}", time, batch,
                  x->rank());
  }
  const Dim steps = x->shape()[static_cast<size_t>(time)],
            rows = x->shape()[static_cast<size_t>(batch)];
  if (!steps.is_static() || !(rows == Dim(static_cast<int64_t>(lengths.size())))) {
    return m.fail(Code::shape, "{} sequence lengths for {}", lengths.size(), str(x->shape()));
  }
  QC_ASSIGN(int64_t size, checked_bytes(DType::i64, Ints{steps.value(), rows.value(), 2}));
  if (size > (int64_t{1} << 28))
    return m.fail(Code::limit, "{} sequences of {} steps", rows.value(), steps.value());
  Tensor tuples(DType::i64, {x->shape()[0].value(), x->shape()[1].value(), 2});
  int64_t* out = tuples.mutable_data<int64_t>();
  for (int64_t i = 0; i < tuples.shape()[0]; ++i) {
    for (int64_t j = 0; j < tuples.shape()[1]; ++j) {
      const int64_t t = time == 0 ? i : j, b = time == 0 ? j : i;
      const int64_t length = lengths[static_cast<size_t>(b)];
      if (length < 0 || length > steps.value())
        return m.fail(Code::attribute, "a sequence of {} steps", length);
      const int64_t from = t < length ? length - 1 - t : t;
      *out++ = time == 0 ? from : b;
      *out++ = time == 0 ? b : from;
    }
  }
  return single(m.emit("gather_nd", {x, m.graph().constant(std::move(tuples))}));
}

Result<Values> aten_embedding(Import& m) {
  QC_ASSIGN(Value * weight, m.tensor("weight"));
  QC_ASSIGN(Value * index, m.tensor("indices"));
  return single(gather(m, weight, index, 0));
}

Result<Values> aten_index_select(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t axis, m.i("dim", 0));
  QC_ASSIGN(Value * index, m.tensor("index"));
  if (x->rank() == 0) return Values{x};
  QC_ASSIGN(index, reshaped(m, index, {product(index->shape())}));
  return single(gather(m, x, index, axis));
}

Result<Values> aten_take(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * index, m.tensor("index"));
  QC_ASSIGN(x, reshaped(m, x, {product(x->shape())}));
  return single(gather(m, x, index, 0));
}

Result<Values> aten_gather(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t axis, m.i("dim", 0));
  QC_ASSIGN(Value * index, m.tensor("index"));
  if (product(index->shape()) == Dim(0)) {  // without indices any rank will do
    return Values{m.graph().constant(Tensor(x->dtype(), static_dims(index->shape())))};
  }
  return single(gather_elements(m, x, index, axis));
}

Result<Values> aten_take_along_dim(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * index, m.tensor("indices"));
  if (!m.given("dim")) {
    QC_ASSIGN(x, reshaped(m, x, {product(x->shape())}));
    QC_ASSIGN(index, reshaped(m, index, {product(index->shape())}));
    return single(gather_elements(m, x, index, 0));
  }
  QC_ASSIGN(int64_t axis, m.i("dim", 0));
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  if (index->rank() != x->rank()) return m.fail(Code::shape, "indices and data differ in rank");
  Dims rest = x->shape(), picks = index->shape();
  const size_t a = static_cast<size_t>(axis);
  rest[a] = picks[a] = Dim(1);
  QC_ASSIGN(Dims common, broadcast(rest, picks, m.loc()));
  rest = picks = common;
  rest[a] = x->shape()[a];
  picks[a] = index->shape()[a];
  if (!(rest == x->shape())) {
    QC_ASSIGN(x, m.emit("expand", {x}, {{"shape", rest}}));
  }
  if (!(picks == index->shape())) {
    QC_ASSIGN(index, m.emit("expand", {index}, {{"shape", picks}}));
  }
  return single(gather_elements(m, x, index, axis));
}

Result<Values> aten_index(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Values list, m.tensors("indices"));
  QC_ASSIGN(Indexing at, read_indices(m, x, list));
  if (at.axes.size() == 1) return single(gather(m, x, at.tuples, at.axes[0]));
  QC_ASSIGN(Value * front, transposed(m, x, to_front(at.axes, x->rank())));
  QC_ASSIGN(Value * y, m.emit("gather_nd", {front, at.tuples}));
  // The picked axes lead; move them behind the axes that stood before the indexed ones.
  const int64_t picks = static_cast<int64_t>(at.picks.size());
  Ints perm;
  for (int64_t i = 0; i < at.position; ++i) perm.push_back(picks + i);
  for (int64_t i = 0; i < picks; ++i) perm.push_back(i);
  for (int64_t i = picks + at.position; i < y->rank(); ++i) perm.push_back(i);
  return single(transposed(m, y, perm));
}

/// The elements where a constant mask holds, one after the other.
Result<Values> aten_masked_select(Import& m) {
  Compose c(m);
  Value* x = c.take(m.tensor("self"));
  Value* mask = c.take(m.tensor("mask"));
  if (!c.ok()) return c.done({});
  QC_ASSIGN(const Dims common, broadcast(x->shape(), mask->shape(), m.loc()));
  if (!(mask->shape() == common) && all_static(common))
    mask = c("Expand", {mask, c.ints(static_dims(common))});
  if (!(x->shape() == common)) x = c.emit("expand", {x}, {{"shape", common}});
  mask = c("Reshape", {mask, c.ints({-1})});
  if (!c.ok()) return c.done({});
  QC_ASSIGN(const Values positions, as_indices(m, mask));
  return c.done(
      {c.emit("gather", {c.reshape(x, {product(common)}), positions[0]}, {{"axis", int64_t{0}}})});
}

constexpr ImportRow kRows[] = {
    {"", "Gather", onnx_gather},
    {"", "GatherElements", onnx_gather_elements},
    {"", "GatherND", onnx_gather_nd},
    {"", "Compress", onnx_compress},
    {"", "ReverseSequence", onnx_reverse_sequence},
    {"aten", "embedding.default", aten_embedding},
    {"aten", "index_select.default", aten_index_select},
    {"aten", "take.default", aten_take},
    {"aten", "gather.default", aten_gather},
    {"aten", "take_along_dim.default", aten_take_along_dim},
    {"aten", "masked_select.default", aten_masked_select},
    {"aten", "index.Tensor", aten_index},
    {"aten", "_unsafe_index.Tensor", aten_index},
};

}  // namespace

void register_gather(Registration& r) {
  r.op<Gather>();
  r.op<GatherElements>();
  r.op<GatherNd>();
  r.imports(kRows);
  r.imports(embedding_bag_rows());
}

}  // namespace qc
