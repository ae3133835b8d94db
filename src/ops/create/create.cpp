#include "ops/create/create.h"

#include <algorithm>
#include <cstring>

#include "kernels/cast/calls.h"
#include "kernels/one_hot/calls.h"
#include "kernels/sequence/calls.h"
#include "kernels/trilu/calls.h"
#include "ops/common/index.h"

namespace qc {

const OpInfo DimsOp::kInfo = {
    .name = "dims",
    .min_inputs = 0,
    .max_inputs = 0,
    .summary = "sizes as a list of integers",
};

Result<std::vector<Type>> DimsOp::infer() const {
  if (scalar && values.size() != 1) {
    return error(Code::attribute, loc(), "a scalar of {} values", values.size());
  }
  Dims shape;
  if (!scalar) shape.push_back(Dim(static_cast<int64_t>(values.size())));
  return std::vector<Type>{Type(DType::i64, shape)};
}

Result<Ok> DimsOp::eval(EvalContext& c) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_static()) {
      return error(Code::dim, loc(), "size {} is not known; bind its dimensions", values[i].str());
    }
    c.out(0).mutable_data<int64_t>()[i] = values[i].value();
  }
  return Ok{};
}

namespace {

/// The value of a node without operands becomes a constant when it is lowered.
Result<Ok> lower_to_constant(const Node& node, Lowering& l, std::string_view purpose) {
  QC_ASSIGN(std::vector<Tensor> values, eval_node(node, {}));
  l.alias(0, l.constant(std::move(values[0]), purpose));
  return Ok{};
}

}  // namespace

Result<Ok> DimsOp::lower(Lowering& l) const {
  if (all_static(values)) return lower_to_constant(*this, l, "sizes");
  constexpr size_t kMost = 8;  // that one call writes
  for (size_t at = 0; at < values.size(); at += kMost) {
    kernel::Sizes c;
    const size_t n = std::min(values.size() - at, kMost);
    c.n = static_cast<int64_t>(n);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(at), n, c.values);
    c.y = part(l.out(), static_cast<int64_t>(at * sizeof(int64_t)), {c.n});
    l.emit(c);
  }
  return Ok{};
}

constexpr int64_t kLongest = int64_t{1} << 26;  // a sequence becomes a constant

const OpInfo Iota::kInfo = {
    .name = "iota",
    .min_inputs = 0,
    .max_inputs = 0,
    .summary = "start, start + step, ...: a given number of values",
};

Result<std::vector<Type>> Iota::infer() const {
  if (size.is_static() && size.value() < 0) {
    return error(Code::attribute, loc(), "a sequence of {} elements", size.value());
  }
  if (size.is_static() && size.value() > kLongest) {
    return error(Code::limit, loc(), "a sequence of {} elements, at most {} are possible",
                 size.value(), kLongest);
  }
  return std::vector<Type>{Type(dtype, {size})};
}

std::optional<Dims> Iota::contents() const {
  if (!size.is_static() || size.value() > 256 || is_float(dtype)) return std::nullopt;
  Dims out;
  for (int64_t i = 0; i < size.value(); ++i) out.push_back(start + Dim(i) * step);
  return out;
}

std::optional<IndexFormula> Iota::formula(const FormulaOperands&) const {
  if (!step.is_static()) return std::nullopt;
  return IndexFormula{false, {{start, {step.value()}}}};
}

Result<Ok> Iota::eval(EvalContext& c) const {
  if (!start.is_static() || !step.is_static()) {
    return error(Code::dim, loc(), "start {} or step {} is not known", start.str(), step.str());
  }
  uint64_t value = static_cast<uint64_t>(start.value());  // wraps where i64 would overflow
  Tensor& y = c.out(0);
  for (int64_t i = 0; i < y.size(); ++i, value += static_cast<uint64_t>(step.value())) {
    y.set_int(i, static_cast<int64_t>(value));
  }
  return Ok{};
}

Result<Ok> Iota::lower(Lowering& l) const {
  if (all_static({size, start, step})) return lower_to_constant(*this, l, "sequence");
  kernel::Sequence c;
  c.n = size;
  c.start = start;
  c.step = step;
  c.y = dtype == DType::i64 ? l.out() : l.scratch(DType::i64, {size}, "sequence");
  l.emit(c);
  if (dtype == DType::i64) return Ok{};
  kernel::Cast cast;
  cast.n = size;
  cast.from = name(DType::i64);
  cast.to = name(dtype);
  cast.x = c.y;
  cast.y = l.out();
  l.emit(cast);
  return Ok{};
}

const OpInfo Trilu::kInfo = {
    .name = "trilu",
    .summary = "the upper or lower triangle of each matrix, zero elsewhere",
};

Result<std::vector<Type>> Trilu::infer() const {
  const Type& x = input_type(0);
  if (x.rank() < 2) return error(Code::shape, loc(), "a triangle of {}", str(x));
  return std::vector<Type>{Type(x.dtype, x.shape)};
}

Result<Ok> Trilu::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const size_t size = bytes(x.dtype());
  const int64_t columns = x.shape().back(), rows = x.shape()[x.shape().size() - 2];
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t row = i / columns % rows, column = i % columns;
    if (upper ? column - row < k : column - row > k) continue;
    std::memcpy(y.mutable_bytes().data() + static_cast<size_t>(i) * size,
                x.bytes().data() + static_cast<size_t>(i) * size, size);
  }
  return Ok{};
}

Result<Ok> Trilu::lower(Lowering& l) const {
  const Dims x = l.in_dims(0);
  if (count(x) == 0) return Ok{};
  kernel::Trilu p;
  QC_TRY(l.param(count(x)));
  QC_ASSIGN(p.batch, l.param(extent(x, 0, x.size() - 2)));
  p.rows = x[x.size() - 2];
  p.columns = x.back();
  const int64_t rows = l.bounds(p.rows).max, columns = l.bounds(p.columns).max;
  p.k = std::clamp<int64_t>(k, -rows - 1, columns + 1);
  p.upper = upper;
  p.bytes = std::to_string(bytes(l.in_type(0).dtype));
  p.x = l.in(0);
  p.y = l.out();
  l.emit(p, {.in_place = {{0, 0}}});
  return Ok{};
}

const OpInfo OneHot::kInfo = {
    .name = "one_hot",
    .min_inputs = 2,
    .max_inputs = 2,
    .summary = "a new axis with one value at the index and another elsewhere",
};

Result<std::vector<Type>> OneHot::infer() const {
  const Type &index = input_type(0), &values = input_type(1);
  if (index.dtype != DType::i64)
    return error(Code::type, loc(), "indices are {}, expected i64", name(index.dtype));
  if (values.rank() != 1 || !(values.shape[0] == Dim(2))) {
    return error(Code::shape, loc(), "values are {}, expected two elements", str(values));
  }
  if (axis < 0 || axis > index.rank())
    return error(Code::attribute, loc(), "axis {} is out of range", axis);
  if (depth.is_static() && depth.value() < 0)
    return error(Code::attribute, loc(), "depth is {}", depth.value());
  Dims shape = index.shape;
  shape.insert(shape.begin() + axis, depth);
  return std::vector<Type>{Type(values.dtype, shape)};
}

Result<Ok> OneHot::eval(EvalContext& c) const {
  const Tensor &index = c.in(0), &values = c.in(1);
  Tensor& y = c.out(0);
  const size_t size = bytes(values.dtype());
  const int64_t n = depth.value(),
                inner = extent(index.shape(), static_cast<size_t>(axis), index.shape().size());
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t o = i / (n * inner), d = i / inner % n;
    const int64_t given = index.as_int(o * inner + i % inner);
    const size_t which = (given < 0 ? given + n : given) == d ? 1 : 0;
    std::memcpy(y.mutable_bytes().data() + static_cast<size_t>(i) * size,
                values.bytes().data() + which * size, size);
  }
  return Ok{};
}

Result<Ok> OneHot::lower(Lowering& l) const {
  const Dims index = l.in_dims(0);
  if (count(l.out_dims()) == 0) return Ok{};
  QC_TRY(l.param(count(l.out_dims())));
  kernel::OneHot p;
  p.outer = extent(index, 0, static_cast<size_t>(axis));
  p.depth = depth;
  p.inner = extent(index, static_cast<size_t>(axis), index.size());
  p.block = static_cast<int32_t>(bytes(l.out_type().dtype));
  p.indices = l.in(0);
  p.values = l.in(1);
  p.y = l.out();
  l.emit(p);
  return Ok{};
}

}  // namespace qc
