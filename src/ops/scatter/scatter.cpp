#include "ops/scatter/scatter.h"

#include <algorithm>
#include <cstring>

#include "ir/relations.h"
#include "kernels/numerics/combine.h"
#include "kernels/scatter/calls.h"
#include "ops/common/broadcast.h"
#include "ops/common/dispatch.h"
#include "ops/common/index.h"

namespace qc {
namespace {

constexpr std::string_view kReductions[] = {"none", "add", "mul", "max", "min"};

int code(const std::string& reduction) {
  return static_cast<int>(std::find(std::begin(kReductions), std::end(kReductions), reduction) -
                          std::begin(kReductions));
}

Result<Ok> check_scatter(const Node& node, const std::string& reduction) {
  const Type &x = node.input_type(0), &index = node.input_type(1), &updates = node.input_type(2);
  if (code(reduction) == static_cast<int>(std::size(kReductions))) {
    return error(Code::attribute, node.loc(), "reduction '{}' is none of none, add, mul, max, min",
                 reduction);
  }
  if (index.dtype != DType::i64) {
    return error(Code::type, node.loc(), "indices are {}, expected i64", name(index.dtype));
  }
  if (updates.dtype != x.dtype) {
    return error(Code::type, node.loc(), "updates are {}, the operand is {}", name(updates.dtype),
                 name(x.dtype));
  }
  if (reduction != "none") QC_TRY(arithmetic_suffix(x.dtype, node.loc()));
  return Ok{};
}

/// y[at + k] meets updates[from + k] for k < n.
void put(int how, Tensor& y, int64_t at, const Tensor& updates, int64_t from, int64_t n) {
  const int64_t size = static_cast<int64_t>(bytes(y.dtype()));
  if (how == QN_REPLACE) {
    std::memcpy(y.mutable_bytes().data() + at * size, updates.bytes().data() + from * size,
                static_cast<size_t>(n * size));
    return;
  }
  auto each = [&](auto combine, auto* to, const auto* add) {
    for (int64_t k = 0; k < n; ++k) to[at + k] = combine(how, to[at + k], add[from + k]);
  };
  switch (y.dtype()) {
#define QC_COMBINE(type, suffix, T)                                    \
  case DType::type:                                                    \
    each(qn_combine_##suffix, y.mutable_data<T>(), updates.data<T>()); \
    break;
    QC_COMBINE(f32, f32, float)
    QC_COMBINE(f64, f64, double)
    QC_COMBINE(f16, f16, uint16_t)
    QC_COMBINE(bf16, bf16, uint16_t)
    QC_COMBINE(i8, i8, int8_t)
    QC_COMBINE(i16, i16, int16_t)
    QC_COMBINE(i32, i32, int32_t)
    QC_COMBINE(i64, i64, int64_t)
    QC_COMBINE(u8, u8, uint8_t)
    QC_COMBINE(u16, u16, uint16_t)
    QC_COMBINE(u32, u32, uint32_t)
    QC_COMBINE(u64, u64, uint64_t)
#undef QC_COMBINE
    default:
      break;
  }
}

/// Emits a call whose sizes are set.
template <class KernelCall>
void emit_scatter(Lowering& l, KernelCall& c, const std::string& reduction) {
  const DType dtype = l.in_type(0).dtype;
  c.element = reduction == "none" ? std::to_string(bytes(dtype)) : std::string(name(dtype));
  c.x = l.in(0);
  c.indices = l.in(1);
  c.updates = l.in(2);
  c.y = l.out();
  l.emit(c, {.in_place = {{0, 0}}, .macs = 0});
}

/// `given` counted from the end when negative; -1 when it is outside the axis.
int64_t position(int64_t given, int64_t size) {
  const int64_t i = given < 0 ? given + size : given;
  return i >= 0 && i < size ? i : -1;
}

}  // namespace

const OpInfo ScatterElements::kInfo = {
    .name = "scatter_elements",
    .min_inputs = 3,
    .max_inputs = 3,
    .traits = kQuantizedInFloat,
    .summary = "writes one element per index along an axis; updates outside are dropped",
};

Result<std::vector<Type>> ScatterElements::infer() const {
  const Type &x = input_type(0), &index = input_type(1), &updates = input_type(2);
  QC_TRY(check_scatter(*this, reduction));
  if (axis < 0 || axis >= x.rank()) {
    return error(Code::attribute, loc(), "axis {} is out of range for rank {}", axis, x.rank());
  }
  bool fits = index.rank() == x.rank() && updates.rank() == x.rank();
  for (size_t i = 0; fits && i < x.shape.size(); ++i) {
    const Dim &d = x.shape[i], &k = index.shape[i], &u = updates.shape[i];
    fits = !differ(u, k) && (static_cast<int64_t>(i) == axis || !exceeds(k, d));
  }
  if (!fits) {
    return error(Code::shape, loc(), "indices {} and updates {} do not fit {}", str(index),
                 str(updates), str(x));
  }
  return std::vector<Type>{Type(x.dtype, x.shape)};
}

Result<Ok> ScatterElements::eval(EvalContext& c) const {
  const Tensor &index = c.in(1), &updates = c.in(2);
  Tensor y = c.in(0);
  const Ints strides = strides_of(y.shape()), own = strides_of(index.shape());
  const size_t a = static_cast<size_t>(axis);
  for (int64_t i = 0; i < index.size(); ++i) {
    const int64_t k = position(index.as_int(i), y.shape()[a]);
    if (k < 0) continue;
    int64_t at = k * strides[a];
    for (size_t d = 0; d < strides.size(); ++d) {
      if (d != a) at += i / own[d] % index.shape()[d] * strides[d];
    }
    put(code(reduction), y, at, updates, i, 1);
  }
  c.set_out(0, std::move(y));
  return Ok{};
}

Result<Ok> ScatterElements::lower(Lowering& l) const {
  Dims strides = strides_of(l.in_dims(0));
  const size_t a = static_cast<size_t>(axis);
  if (count(l.in_dims(0)) == 0) return Ok{};
  kernel::ScatterElements p;
  QC_ASSIGN(p.total, l.param(count(l.in_dims(0))));
  p.size = l.in_dims(0)[a];
  p.stride = strides[a];
  p.how = code(reduction);
  strides[a] = 0;
  QC_TRY(fill_params(p.dims, l.in_dims(1), 1, loc()));
  QC_TRY(fill_params(p.ys, strides, 0, loc()));
  emit_scatter(l, p, reduction);
  return Ok{};
}

const OpInfo ScatterNd::kInfo = {
    .name = "scatter_nd",
    .min_inputs = 3,
    .max_inputs = 3,
    .traits = kQuantizedInFloat,
    .summary = "writes slices at tuples of indices; updates outside are dropped",
};

Result<std::vector<Type>> ScatterNd::infer() const {
  const Type &x = input_type(0), &index = input_type(1), &updates = input_type(2);
  QC_TRY(check_scatter(*this, reduction));
  if (index.rank() < 1 || !index.shape.back().is_static()) {
    return error(Code::shape, loc(), "indices {} are no tuples of known length", str(index));
  }
  const int64_t depth = index.shape.back().value();
  if (depth < 0 || depth > x.rank() || depth > 8) {
    return error(Code::shape, loc(), "tuples of {} indices into {}", depth, str(x));
  }
  Dims expected(index.shape.begin(), index.shape.end() - 1);
  expected.insert(expected.end(), x.shape.begin() + depth, x.shape.end());
  bool fits = expected.size() == updates.shape.size();
  for (size_t i = 0; fits && i < expected.size(); ++i) {
    fits = !differ(expected[i], updates.shape[i]);
  }
  if (!fits)
    return error(Code::shape, loc(), "updates are {}, expected {}", str(updates.shape),
                 str(expected));
  return std::vector<Type>{Type(x.dtype, x.shape)};
}

Result<Ok> ScatterNd::eval(EvalContext& c) const {
  const Tensor &index = c.in(1), &updates = c.in(2);
  Tensor y = c.in(0);
  const int64_t depth = index.shape().back();
  const int64_t rows = extent(index.shape(), 0, index.shape().size() - 1);
  const int64_t block = extent(y.shape(), static_cast<size_t>(depth), y.shape().size());
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = 0;
    bool inside = true;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t size = y.shape()[static_cast<size_t>(d)],
                    i = position(index.as_int(r * depth + d), size);
      inside = inside && i >= 0;
      at = at * size + i;
    }
    if (inside) put(code(reduction), y, at * block, updates, r * block, block);
  }
  c.set_out(0, std::move(y));
  return Ok{};
}

Result<Ok> ScatterNd::lower(Lowering& l) const {
  const Dims x = l.in_dims(0), index = l.in_dims(1);
  if (count(x) == 0) return Ok{};
  kernel::ScatterNd p;
  QC_ASSIGN(p.total, l.param(count(x)));
  QC_ASSIGN(p.rows, l.param(extent(index, 0, index.size() - 1)));
  const auto depth = static_cast<size_t>(index.back().value());
  p.depth = index.back();
  QC_ASSIGN(p.block, l.param(extent(x, depth, x.size())));
  p.how = code(reduction);
  std::copy_n(x.begin(), depth, p.dims);
  emit_scatter(l, p, reduction);
  return Ok{};
}

const OpInfo SliceScatter::kInfo = {
    .name = "slice_scatter",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = kMovesElements | kAnyLayout,
    .summary = "writes the second operand over a regular part of the first",
};

namespace {

/// The operand's bytes, then the moved elements over them.
Result<Ok> lower_overwrite(Lowering& l, const Strided& copy) {
  const DType dtype = l.in_type(0).dtype;
  const Dims strides = strides_of(l.in_type(0));
  QC_TRY(call_strided(l, {l.in_type(0).shape, strides, strides_of(l.out_type())}, dtype, l.in(0),
                      l.out()));
  return call_strided(l, copy, dtype, l.in(1), l.out());
}

Strided part(const Dims& start, const Dims& step, const Dims& dims, const Dims& x, const Dims& y) {
  Strided s{dims, x, {}};
  for (size_t i = 0; i < y.size(); ++i) {
    s.to.push_back(y[i] * step[i]);
    s.to_offset = s.to_offset + y[i] * start[i];
  }
  return s;
}

}  // namespace

Result<std::vector<Type>> SliceScatter::infer() const {
  const Type &x = input_type(0), &source = input_type(1);
  if (source.dtype != x.dtype)
    return error(Code::type, loc(), "writes {} into {}", str(source), str(x));
  QC_TRY(check_box(x.shape, start, source.shape, step, loc()));
  Type y = moved(x, x.shape);
  const Type* const operands[] = {&x, &source};
  y.format = common_format(operands);
  return std::vector<Type>{y};
}

Result<Ok> SliceScatter::eval(EvalContext& c) const {
  const Tensor& source = c.in(1);
  Tensor y = c.in(0);
  move_elements(part(start, step, to_dims(source.shape()), strides_of(source), strides_of(y)),
                source, y);
  c.set_out(0, std::move(y));
  return Ok{};
}

Result<Ok> SliceScatter::lower(Lowering& l) const {
  const Type& source = l.in_type(1);
  return lower_overwrite(
      l, part(start, step, source.shape, strides_of(source), strides_of(l.out_type())));
}

const OpInfo StridedScatter::kInfo = {
    .name = "as_strided_scatter",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = kMovesElements,
    .summary = "writes the second operand over strided elements of the first",
};

Result<std::vector<Type>> StridedScatter::infer() const {
  const Type &x = input_type(0), &source = input_type(1);
  if (source.dtype != x.dtype || stride.size() != source.shape.size()) {
    return error(Code::shape, loc(), "writes {} with {} strides into {}", str(source),
                 stride.size(), str(x));
  }
  const Dim total = product(x.shape);
  if (leaves(total, source.shape, stride, offset)) {
    return error(Code::shape, loc(), "strides {} leave the {} elements of the operand", str(stride),
                 total.str());
  }
  Type y(x.dtype, x.shape);
  const Type* const operands[] = {&x, &source};
  y.format = common_format(operands);
  return std::vector<Type>{y};
}

Result<Ok> StridedScatter::eval(EvalContext& c) const {
  const Tensor& source = c.in(1);
  Tensor y = c.in(0);
  move_elements({to_dims(source.shape()), strides_of(source), stride, 0, offset}, source, y);
  c.set_out(0, std::move(y));
  return Ok{};
}

Result<Ok> StridedScatter::lower(Lowering& l) const {
  const Dims& dims = l.in_type(1).shape;
  return lower_overwrite(l, {dims, strides_of(dims), stride, 0, offset});
}

}  // namespace qc
