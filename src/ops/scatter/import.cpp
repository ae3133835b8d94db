#include <algorithm>

#include "ops/common/importing.h"
#include "ops/common/indexing.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/scatter/scatter.h"

namespace qc {
namespace {

/// A scatter. Sums of bools are true where one is, products where all are: they are extremes of the
/// bytes 0 and 1.
Result<Value*> scattered(const Import& m, std::string_view op, Value* x, Value* index,
                         Value* updates, std::string reduction, AttrMap attrs = {}) {
  const DType type = x->dtype();
  if (type == DType::boolean && reduction != "none") {
    if (reduction == "add") reduction = "max";
    if (reduction == "mul") reduction = "min";
    QC_ASSIGN(x, m.cast(x, DType::u8));
    QC_ASSIGN(updates, m.cast(updates, DType::u8));
  }
  attrs["reduction"] = reduction;
  QC_ASSIGN(Value * y, m.emit(op, {x, index, updates}, attrs));
  return m.cast(y, type);
}

/// Writes `updates` (cut to the shape of `index`) along `axis`.
Result<Value*> elements(const Import& m, Value* x, Value* index, Value* updates, int64_t axis,
                        std::string reduction) {
  const Dims shape = x->shape();
  auto vector = [&](Value* v) {
    return v->rank() == 0 ? reshaped(m, v, {Dim(1)}) : Result<Value*>(v);
  };
  QC_ASSIGN(x, vector(x));
  QC_ASSIGN(index, vector(index));
  QC_ASSIGN(updates, vector(updates));
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  QC_ASSIGN(index, m.cast(index, DType::i64));
  QC_ASSIGN(updates, m.cast(updates, x->dtype()));
  if (updates->rank() == index->rank() && !(updates->shape() == index->shape())) {
    std::vector<Range> ranges;
    for (const Dim& d : index->shape()) ranges.push_back({Dim(0), d, Dim(1)});
    QC_ASSIGN(updates, take(m, updates, ranges));
  }
  QC_ASSIGN(Value * y,
            scattered(m, "scatter_elements", x, index, updates, reduction, {{"axis", axis}}));
  return reshaped(m, y, shape);
}

Result<Values> onnx_scatter_elements(Import& m) {
  for (size_t i = 0; i < 3; ++i) {
    if (!m.has(i)) return m.fail(Code::graph, "operand {} is missing", i);
  }
  QC_ASSIGN(int64_t axis, m.i("axis", 0));
  QC_ASSIGN(std::string reduction, m.s("reduction", "none"));
  return one(elements(m, m.in(0), m.in(1), m.in(2), axis, reduction));
}

Result<Values> onnx_scatter_nd(Import& m) {
  for (size_t i = 0; i < 3; ++i) {
    if (!m.has(i)) return m.fail(Code::graph, "operand {} is missing", i);
  }
  QC_ASSIGN(std::string reduction, m.s("reduction", "none"));
  QC_ASSIGN(Value * index, m.cast(m.in(1), DType::i64));
  return one(scattered(m, "scatter_nd", m.in(0), index, m.in(2), reduction));
}

/// PyTorch's words for reductions.
Result<std::string> reduction_of(const Import& m, std::string_view name, std::string fallback) {
  QC_ASSIGN(std::string word, m.s(name, fallback));
  if (word == "sum") return std::string("add");
  if (word == "prod" || word == "multiply") return std::string("mul");
  if (word == "amax") return std::string("max");
  if (word == "amin") return std::string("min");
  return word;
}

struct Operands {
  Value* x;
  Value* index;
  int64_t axis;
};

Result<Operands> operands(const Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t axis, m.i("dim", 0));
  QC_ASSIGN(Value * index, m.tensor("index"));
  return Operands{x, index, axis};
}

/// scatter with a tensor or a number, with or without a reduction.
Result<Values> aten_scatter(Import& m) {
  QC_ASSIGN(Operands o, operands(m));
  QC_ASSIGN(std::string reduction, reduction_of(m, "reduce", "none"));
  Value* updates = nullptr;
  if (m.given("src")) {
    QC_ASSIGN(updates, m.tensor("src"));
  } else {
    QC_ASSIGN(updates, m.tensor_as("value", o.x->dtype()));
    QC_ASSIGN(updates, expanded(m, updates, o.index->shape()));
  }
  return one(elements(m, o.x, o.index, updates, o.axis, reduction));
}

Result<Values> aten_scatter_add(Import& m) {
  QC_ASSIGN(Operands o, operands(m));
  QC_ASSIGN(Value * updates, m.tensor("src"));
  return one(elements(m, o.x, o.index, updates, o.axis, "add"));
}

/// Without include_self the places written to start from the reduction's neutral element.
Result<Values> aten_scatter_reduce(Import& m) {
  QC_ASSIGN(Operands o, operands(m));
  QC_ASSIGN(Value * updates, m.tensor("src"));
  QC_ASSIGN(std::string reduction, reduction_of(m, "reduce", "sum"));
  QC_ASSIGN(bool include, m.b("include_self", true));
  const bool mean = reduction == "mean";
  const DType dtype = o.x->dtype();
  if (mean) reduction = "add";
  Value* y = o.x;
  if (!include) {
    const double neutral = reduction == "mul"   ? 1
                           : reduction == "max" ? (dtype == DType::boolean ? 0 : -kInf)
                           : reduction == "min" ? kInf
                                                : 0;
    QC_ASSIGN(Value * start, expanded(m, m.scalar(neutral, dtype), o.index->shape()));
    QC_ASSIGN(y, elements(m, y, o.index, start, o.axis, "none"));
  }
  QC_ASSIGN(y, elements(m, y, o.index, updates, o.axis, reduction));
  if (!mean) return Values{y};
  // The number of values at each place; places nothing was written to divide by one.
  QC_ASSIGN(Value * number, expanded(m, m.scalar(1, dtype), o.x->shape()));
  QC_ASSIGN(Value * ones, expanded(m, m.scalar(1, dtype), o.index->shape()));
  if (!include) {
    QC_ASSIGN(Value * zeros, expanded(m, m.scalar(0, dtype), o.index->shape()));
    QC_ASSIGN(number, elements(m, number, o.index, zeros, o.axis, "none"));
  }
  QC_ASSIGN(number, elements(m, number, o.index, ones, o.axis, "add"));
  return one(m.emit(is_float(dtype) ? "div" : "floor_div", {y, number}));
}

/// Whole slices along an axis: the index of each is repeated over the slice.
Result<Value*> slices(const Import& m, const Operands& o, Value* updates, std::string reduction) {
  Value* x = o.x;
  QC_ASSIGN(int64_t axis, resolve_axis(o.axis, std::max<int64_t>(x->rank(), 1), m.loc()));
  Dims shape = x->shape();
  if (shape.empty()) shape.push_back(Dim(1));
  const Dim n = product(o.index->shape());
  shape[static_cast<size_t>(axis)] = n;
  Dims line(shape.size(), Dim(1));
  line[static_cast<size_t>(axis)] = n;
  QC_ASSIGN(Value * index, reshaped(m, o.index, line));
  QC_ASSIGN(index, expanded(m, index, shape));
  if (updates->rank() == 0) {
    QC_ASSIGN(updates, m.cast(updates, x->dtype()));
    QC_ASSIGN(updates, expanded(m, updates, shape));
  }
  return elements(m, x, index, updates, axis, reduction);
}

Result<Values> aten_index_add(Import& m) {
  QC_ASSIGN(Operands o, operands(m));
  QC_ASSIGN(Value * source, m.tensor("source"));
  QC_ASSIGN(source, m.cast(source, o.x->dtype()));
  if (m.given("alpha")) {
    QC_ASSIGN(Value * alpha, m.tensor_as("alpha", o.x->dtype()));
    const bool flags = o.x->dtype() == DType::boolean;
    QC_ASSIGN(source, m.emit(flags ? "logical_and" : "mul", {source, alpha}));
  }
  return one(slices(m, o, source, "add"));
}

Result<Values> aten_index_copy(Import& m) {
  QC_ASSIGN(Operands o, operands(m));
  QC_ASSIGN(Value * source, m.tensor("source"));
  return one(slices(m, o, source, "none"));
}

Result<Values> aten_index_fill(Import& m) {
  QC_ASSIGN(Operands o, operands(m));
  QC_ASSIGN(Value * value, m.tensor_as("value", o.x->dtype()));
  QC_ASSIGN(value, reshaped(m, value, {}));
  return one(slices(m, o, value, "none"));
}

/// x[mask] = number, for a mask computed at run time.
Result<Value*> masked_put(const Import& m, Value* x, Value* mask, Value* value) {
  Dims shape = mask->shape();
  shape.resize(x->shape().size(), Dim(1));
  QC_ASSIGN(mask, reshaped(m, mask, shape));
  QC_ASSIGN(mask, expanded(m, mask, x->shape()));
  QC_ASSIGN(value, reshaped(m, value, {}));
  return m.emit("where", {mask, value, x});
}

Result<Values> aten_index_put(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Values list, m.tensors("indices"));
  QC_ASSIGN(Value * values, m.tensor("values"));
  QC_ASSIGN(bool accumulate, m.b("accumulate", false));
  QC_ASSIGN(values, m.cast(values, x->dtype()));
  const bool mask =
      list.size() == 1 && list[0] && list[0]->dtype() == DType::boolean && !list[0]->is_constant();
  if (mask && !accumulate && product(values->shape()) == Dim(1) && list[0]->rank() <= x->rank()) {
    return one(masked_put(m, x, list[0], values));
  }
  QC_ASSIGN(Indexing at, read_indices(m, x, list));
  Value* tuples = at.tuples;
  if (at.axes.size() == 1) {
    Dims shape = at.picks;
    shape.push_back(Dim(1));
    QC_ASSIGN(tuples, reshaped(m, tuples, shape));
  }
  QC_ASSIGN(tuples, m.cast(tuples, DType::i64));
  const Ints perm = to_front(at.axes, x->rank());
  QC_ASSIGN(Value * front, transposed(m, x, perm));
  // The values have the shape of x[indices]; scatter_nd wants the picked axes first.
  const int64_t picks = static_cast<int64_t>(at.picks.size());
  Dims rest(front->shape().begin() + static_cast<std::ptrdiff_t>(at.axes.size()),
            front->shape().end());
  Dims shape(rest.begin(), rest.begin() + at.position);
  shape.insert(shape.end(), at.picks.begin(), at.picks.end());
  shape.insert(shape.end(), rest.begin() + at.position, rest.end());
  QC_ASSIGN(values, expanded(m, values, shape));
  Ints picked;
  for (int64_t i = 0; i < picks; ++i) picked.push_back(at.position + i);
  QC_ASSIGN(values, transposed(m, values, to_front(picked, values->rank())));
  QC_ASSIGN(Value * y,
            scattered(m, "scatter_nd", front, tuples, values, accumulate ? "add" : "none"));
  Ints back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return one(transposed(m, y, back));
}

Result<Value*> overwrite(const Import& m, Value* x, Value* source, int64_t axis,
                         const Range& range) {
  Dims start(x->shape().size(), Dim(0)), step(x->shape().size(), Dim(1)), shape = x->shape();
  start[static_cast<size_t>(axis)] = range.start;
  step[static_cast<size_t>(axis)] = range.step;
  shape[static_cast<size_t>(axis)] = range.size;
  QC_ASSIGN(source, m.cast(source, x->dtype()));
  QC_ASSIGN(source, expanded(m, source, shape));
  if (shape == x->shape() && range.step == Dim(1)) return source;
  return m.emit("slice_scatter", {x, source}, {{"start", start}, {"step", step}});
}

Result<Values> aten_slice_scatter(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * source, m.tensor("src"));
  QC_ASSIGN(int64_t axis, m.i("dim", 0));
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  std::optional<Dim> start, end;
  if (m.given("start")) {
    QC_ASSIGN(start, m.dim("start", Dim(0)));
  }
  if (m.given("end")) {
    QC_ASSIGN(end, m.dim("end", Dim(0)));
  }
  QC_ASSIGN(int64_t step, m.i("step", 1));
  QC_ASSIGN(Range range, resolve_range(m, x->shape()[static_cast<size_t>(axis)], start, end, step));
  return one(overwrite(m, x, source, axis, range));
}

Result<Values> aten_select_scatter(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * source, m.tensor("src"));
  QC_ASSIGN(int64_t axis, m.i("dim", 0));
  QC_ASSIGN(Dim index, m.dim("index", Dim(0)));
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  QC_ASSIGN(Range range, resolve_index(m, x->shape()[static_cast<size_t>(axis)], index));
  Dims shape = source->shape();
  if (source->rank() + 1 == x->rank()) {
    shape.insert(shape.begin() + axis, Dim(1));
    QC_ASSIGN(source, reshaped(m, source, shape));
  }
  return one(overwrite(m, x, source, axis, range));
}

Result<Values> aten_diagonal_scatter(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * source, m.tensor("src"));
  QC_ASSIGN(int64_t offset, m.i("offset", 0));
  QC_ASSIGN(int64_t a, m.i("dim1", 0));
  QC_ASSIGN(int64_t b, m.i("dim2", 1));
  QC_ASSIGN(a, resolve_axis(a, x->rank(), m.loc()));
  QC_ASSIGN(b, resolve_axis(b, x->rank(), m.loc()));
  if (a == b) return m.fail(Code::attribute, "the diagonal of axis {} with itself", a);
  Dims stride(x->shape().size());
  Dim each(1);
  for (size_t i = stride.size(); i-- > 0;) {
    stride[i] = each;
    each = each * x->shape()[i];
  }
  const Dim down = stride[static_cast<size_t>(a)], right = stride[static_cast<size_t>(b)];
  stride.erase(stride.begin() + std::max(a, b));
  stride.erase(stride.begin() + std::min(a, b));
  stride.push_back(down + right);
  const Dim start = offset >= 0 ? right * Dim(offset) : down * (Dim(0) - Dim(offset));
  QC_ASSIGN(source, m.cast(source, x->dtype()));
  return one(m.emit("as_strided_scatter", {x, source}, {{"stride", stride}, {"offset", start}}));
}

Result<Values> aten_fill_diagonal(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * value, m.tensor_as("fill_value", x->dtype()));
  QC_ASSIGN(bool wrap, m.b("wrap", false));
  const Dims& shape = x->shape();
  const bool cube = x->rank() > 2 && shape == Dims(shape.size(), shape[0]);
  if (x->rank() != 2 && !cube)
    return m.fail(Code::unsupported, "the diagonal of {}", str(x->type()));
  Dim step(0), each(1);
  for (size_t i = shape.size(); i-- > 0;) {
    step = step + each;
    each = each * shape[i];
  }
  QC_ASSIGN(value, reshaped(m, value, {}));
  const Dim count = wrap && !cube ? ceildiv(each, step) : min(shape[0], shape[1]);
  QC_ASSIGN(value, expanded(m, value, {count}));
  return one(m.emit("as_strided_scatter", {x, value}, {{"stride", Dims{step}}}));
}

/// Where the mask holds, the next element of the source: its place is the number of marks before.
Result<Values> aten_masked_scatter(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * mask, m.tensor("mask"));
  QC_ASSIGN(Value * source, m.tensor("source"));
  QC_ASSIGN(Dims shape, broadcast(x->shape(), mask->shape(), m.loc()));
  QC_ASSIGN(x, expanded(m, x, shape));
  QC_ASSIGN(mask, expanded(m, mask, shape));
  QC_ASSIGN(source, m.cast(source, x->dtype()));
  QC_ASSIGN(source, reshaped(m, source, {product(source->shape())}));
  QC_ASSIGN(Value * position, m.cast(mask, DType::i64));
  QC_ASSIGN(position, reshaped(m, position, {product(shape)}));
  QC_ASSIGN(position, m.emit("cumsum", {position}, {{"axis", int64_t{0}}, {"exclusive", true}}));
  // Behind the last mark the number is beyond the source, where nothing is picked.
  QC_ASSIGN(Value * last,
            m.emit("dims", {}, {{"values", Dims{source->shape()[0] - Dim(1)}}, {"scalar", true}}));
  QC_ASSIGN(position, m.emit("min", {position, last}));
  QC_ASSIGN(Value * picked, m.emit("gather", {source, position}));
  QC_ASSIGN(picked, reshaped(m, picked, shape));
  return one(m.emit("where", {mask, picked, x}));
}

Result<Values> aten_as_strided_scatter(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * source, m.tensor("src"));
  QC_ASSIGN(Dims size, m.dims("size"));
  QC_ASSIGN(Dims stride, m.dims("stride"));
  QC_ASSIGN(Dim offset, m.dim("storage_offset", Dim(0)));
  QC_ASSIGN(source, expanded(m, source, size));
  return one(m.emit("as_strided_scatter", {x, source}, {{"stride", stride}, {"offset", offset}}));
}

constexpr ImportRow kRows[] = {
    {"", "Scatter", onnx_scatter_elements},
    {"", "ScatterElements", onnx_scatter_elements},
    {"", "ScatterND", onnx_scatter_nd},
    {"aten", "scatter.src", aten_scatter},
    {"aten", "scatter.value", aten_scatter},
    {"aten", "scatter.reduce", aten_scatter},
    {"aten", "scatter.value_reduce", aten_scatter},
    {"aten", "scatter_add.default", aten_scatter_add},
    {"aten", "scatter_reduce.two", aten_scatter_reduce},
    {"aten", "index_add.default", aten_index_add},
    {"aten", "index_copy.default", aten_index_copy},
    {"aten", "index_fill.int_Scalar", aten_index_fill},
    {"aten", "index_fill.int_Tensor", aten_index_fill},
    {"aten", "index_put.default", aten_index_put},
    {"aten", "_unsafe_index_put.default", aten_index_put},
    {"aten", "_index_put_impl.default", aten_index_put},
    {"aten", "slice_scatter.default", aten_slice_scatter},
    {"aten", "select_scatter.default", aten_select_scatter},
    {"aten", "diagonal_scatter.default", aten_diagonal_scatter},
    {"aten", "as_strided_scatter.default", aten_as_strided_scatter},
    {"aten", "fill_diagonal.default", aten_fill_diagonal},
    {"aten", "masked_scatter.default", aten_masked_scatter},
};

}  // namespace

void register_scatter(Registration& r) {
  r.op<ScatterElements>();
  r.op<ScatterNd>();
  r.op<SliceScatter>();
  r.op<StridedScatter>();
  r.imports(kRows);
}

}  // namespace qc
