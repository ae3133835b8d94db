#include "ops/rotary/rotary.h"

#include "interp/eval.h"
#include "ir/capability.h"
#include "ir/op_table.h"
#include "ir/relations.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/code_types.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/rotary/calls.h"
#include "ops/common/broadcast.h"
#include "ops/common/codes.h"
#include "ops/common/dispatch.h"
#include "ops/common/strided.h"
#include "ops/quantize/prologue.h"
#include "ops/quantize/scales.h"
#include "program/lowering.h"

namespace qc {
namespace {

constexpr int64_t kMaxRank = 8, kMaxCount = INT32_MAX;

/// Element strides with which an operand of `shape` is walked beside x of `full`.
Dims repeated_strides(const Dims& shape, const Dims& full) {
  Dims out(full.size());
  const Dims own = strides_of(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(shape[i] == 1)) out[full.size() - shape.size() + i] = own[i];
  }
  return out;
}

/// Rotates elements of a type E computed as floats or doubles; others stay.
template <class E>
void rotate_elements(const RowRotation& t, const BroadcastPlan& plan, const Tensor& x,
                     const Tensor& cosine, const Tensor& sine, Tensor& y) {
  using T = typename E::Element;
  const int64_t n = plan.dims.back().value(), half = n / 2, apart = t.interleaved ? 1 : half;
  const int64_t size = plan.dims[static_cast<size_t>(t.axis)].value();
  const int64_t inner = product(Dims(plan.dims.begin() + t.axis + 1, plan.dims.end())).value();
  for_each_offset(plan, [&](int64_t at, const int64_t* angle) {
    if (!t.rotates(at / inner % size)) {
      E::store(y, at, E::load(x, at));
      return;
    }
    const int64_t i = at % n;
    const bool first = t.interleaved ? i % 2 == 0 : i < half;
    const T rotated = first ? -E::load(x, at + apart) : E::load(x, at - apart);
    const T product = E::load(x, at) * E::load(cosine, angle[0]), by = E::load(sine, angle[1]);
    if constexpr (std::is_same_v<T, double>)
      E::store(y, at, qn_fma(rotated, by, product));
    else
      E::store(y, at, qn_fmaf(rotated, by, product));
  });
}

/// Norms are of f32 rows, and their factors are one row, or one for each index that rotates.
Result<Ok> check_norm(const RowRotation& rotation, const Node& node, const Type& x) {
  if (!rotation.norm && (node.input(3) || rotation.eps != 0)) {
    return error(Code::attribute, node.loc(), "factors or an epsilon without a norm");
  }
  if (!rotation.norm) return Ok{};
  if (x.dtype != DType::f32 || !x.shape.back().is_static() || !(rotation.eps >= 0)) {
    return error(Code::type, node.loc(), "a norm of {} with epsilon {}", str(x), rotation.eps);
  }
  if (!node.input(3)) return Ok{};
  const Type& gamma = node.input_type(3);
  const Dims one{x.shape.back()}, each{Dim(rotation.count), x.shape.back()};
  if (gamma.dtype != DType::f32 || gamma.format ||
      (gamma.shape != one && (rotation.count < 0 || gamma.shape != each))) {
    return error(Code::shape, node.loc(), "a norm of {} with factors {}", str(x), str(gamma));
  }
  return Ok{};
}

/// What calls that leave floats and calls that leave codes have in common.
template <class Call>
Result<Ok> fill(const RowRotation& rotation, const Node& node, Lowering& l, Call& c) {
  BroadcastPlan plan;
  plan.dims = l.in_dims(0);
  plan.strides = {strides_in(node, 0), repeated_strides(l.in_dims(1), plan.dims),
                  repeated_strides(l.in_dims(2), plan.dims)};
  for (const Dim& stride : plan.strides[0]) QC_TRY(l.param(stride));
  Dim* const strides[] = {&c.x_at[0], &c.c[0], &c.s[0]};
  QC_TRY(fill_loops(l, plan, c.rank, c.dims, strides));
  c.interleaved = rotation.interleaved;
  c.axis = rotation.axis;
  c.first = rotation.first;
  c.count =
      rotation.count < 0 ? plan.dims[static_cast<size_t>(rotation.axis)] : Dim(rotation.count);
  c.x = l.in(0);
  c.cos = l.in(1);
  c.sin = l.in(2);
  c.norm = rotation.norm;
  c.eps = static_cast<float>(rotation.eps);
  c.gamma = l.optional(3);
  if (node.input(3) && node.input_type(3).rank() > 1) c.gamma_at = plan.dims.back();
  return Ok{};
}

}  // namespace

const OpInfo Rotary::kInfo = {
    .name = "rotary",
    .min_inputs = 3,
    .max_inputs = 4,
    .summary =
        "rotary position embedding: pairs along the last axis, of rows that may be normalised "
        "first, rotated by given angles",
};
const OpInfo RotaryQuantize::kStatic = {
    .name = "rotary_quantize",
    .min_inputs = 3,
    .max_inputs = 4,
    .traits = kQuantizedInFloat,
    .summary = "rotary, of floats or of codes, as codes",
};
const OpInfo RotaryQuantize::kDynamic = {
    .name = "rotary_quantize_dynamic",
    .min_inputs = 3,
    .max_inputs = 4,
    .outputs = 3,
    .traits = kQuantizedInFloat,
    .summary = "rotary, of floats or of codes, as codes with scales found at run time",
};

void RowRotation::visit(AttrVisitor& v) {
  v("interleaved", interleaved, false);
  v("axis", axis, int64_t{0});
  v("first", first, int64_t{0});
  v("count", count, int64_t{-1});
  v("norm", norm, false);
  v("eps", eps, 0.0);
}

Result<Ok> RowRotation::check(const Node& node, const Type& x) const {
  if (!is_float(x.dtype) || bits(x.dtype) < 16) {
    return error(Code::type, node.loc(), "a rotation of {} values", name(x.dtype));
  }
  if (x.rank() < 1 || x.rank() > kMaxRank) {
    return error(Code::shape, node.loc(), "a rotation of rank {}, expected 1 to {}", x.rank(),
                 kMaxRank);
  }
  if (const Dim& n = x.shape.back(); differ(mod(n, 2), 0)) {
    return error(Code::shape, node.loc(), "pairs of {} elements", n.str());
  }
  const bool some = count >= 0;
  const bool fits = some ? axis >= 0 && axis + 1 < x.rank() && first >= 0 && count <= kMaxCount &&
                               first <= kMaxCount &&
                               !exceeds(Dim(first + count), x.shape[static_cast<size_t>(axis)])
                         : count == -1 && axis == 0 && first == 0;
  if (!fits) {
    return error(Code::attribute, node.loc(), "{} indices from {} on along axis {} of {}", count,
                 first, axis, str(x.shape));
  }
  for (size_t i = 1; i < 3; ++i) {
    const Type& angles = node.input_type(i);
    if (angles.dtype != x.dtype) {
      return error(Code::type, node.loc(), "angles of {} for {} values", name(angles.dtype),
                   name(x.dtype));
    }
    QC_ASSIGN(const Dims both, broadcast(x.shape, angles.shape, node.loc()));
    if (both != x.shape) {
      return error(Code::shape, node.loc(), "angles of shape {} for values of shape {}",
                   str(angles.shape), str(x.shape));
    }
  }
  return check_norm(*this, node, x);
}

Tensor RowRotation::normalised(const Tensor& x, const Tensor* gamma) const {
  Tensor out(DType::f32, x.shape());
  const Ints& shape = x.shape();
  const int64_t n = shape.back(), rank = std::ssize(shape);
  int64_t inner = 1;  // rows for each index of the axis
  for (int64_t d = axis + 1; d + 1 < rank; ++d) inner *= shape[static_cast<size_t>(d)];
  for (int64_t r = 0; n > 0 && r < x.size() / n; ++r) {
    const int64_t index = rank > 1 ? r / inner % shape[static_cast<size_t>(axis)] : 0;
    const float* row = x.data<float>() + r * n;
    float* to = out.mutable_data<float>() + r * n;
    if (!rotates(index)) {
      std::copy(row, row + n, to);
      continue;
    }
    const float square = qn_reduce_deviation_f32(row, static_cast<int32_t>(n), 1, 0.0f);
    const float rstd = 1.0f / qn_sqrt_f32(square / static_cast<float>(n) + static_cast<float>(eps));
    const int64_t first_factor = gamma && gamma->shape().size() > 1 ? (index - first) * n : 0;
    for (int64_t i = 0; i < n; ++i) {
      to[i] = qn_mulf(row[i], rstd);
      if (gamma) to[i] = qn_mulf(to[i], gamma->data<float>()[first_factor + i]);
    }
  }
  return out;
}

Result<Ok> RowRotation::eval(const EvalContext& c, const Tensor& given, Tensor& y,
                             const Loc& loc) const {
  const Tensor x = norm ? normalised(given, c.has(3) ? &c.in(3) : nullptr) : given;
  const Tensor &cosine = c.in(1), &sine = c.in(2);
  BroadcastPlan plan;
  plan.dims = to_dims(x.shape());
  plan.strides = {repeated_strides(to_dims(cosine.shape()), plan.dims),
                  repeated_strides(to_dims(sine.shape()), plan.dims)};
  return for_arithmetic_type(x.dtype(), loc, [&](auto type) {
    using E = decltype(type);
    if constexpr (std::is_floating_point_v<typename E::Element>)
      rotate_elements<E>(*this, plan, x, cosine, sine, y);
  });
}

Result<std::vector<Type>> Rotary::infer() const {
  const Type& x = input_type(0);
  QC_TRY(rotation.check(*this, x));
  return std::vector<Type>{Type(x.dtype, x.shape)};
}

Result<Ok> Rotary::eval(EvalContext& c) const { return rotation.eval(c, c.in(0), c.out(0), loc()); }

Result<Ok> Rotary::lower(Lowering& l) const {
  kernel::Rotary c;
  QC_TRY(fill(rotation, *this, l, c));
  QC_ASSIGN(c.type, arithmetic_suffix(l.in_type(0).dtype, loc()));
  c.y = l.out();
  CallInfo info;
  if (!strided_alias(input(0))) info.in_place = {{0, 0}};
  l.emit(c, info);
  return Ok{};
}

Result<Node*> Rotary::with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                                    std::string& reason) {
  Value* x = input(0);
  if (epilogue.floats || x->dtype() != DType::f32) {
    reason = epilogue.floats ? kReadAsFloats : "it is not f32";
    return static_cast<Node*>(nullptr);
  }
  auto fused = std::make_unique<RotaryQuantize>(epilogue.dynamic);
  fused->rotation = rotation;
  fused->epilogue = epilogue;
  Value* codes = rotation.norm ? nullptr : codes_behind(x);
  if (const Format* f = codes ? codes->type().format.get() : nullptr;
      f && (f->granularity == Granularity::tensor ||
            (f->granularity == Granularity::axis && f->axis == rotation.axis))) {
    x = codes;
  }
  return point.graph.add(std::move(fused), {x, input(1), input(2), input(3)}, point.loc,
                         point.before);
}

std::string Rotary::slice_key(int64_t axis) const {
  if (rotation.count >= 0 || axis + 1 >= input_type(0).rank()) return "";
  if (rotation.norm && input(3) && !input(3)->is_constant()) return "";
  std::string key = fmt::format("{} {}", op(), rotation.interleaved);
  if (rotation.norm) key += fmt::format(" norm {}", rotation.eps);
  for (size_t i = 1; i < 3; ++i) {
    // Angles are the same for all indices of the axis.
    const int64_t at = axis - (input_type(0).rank() - input_type(i).rank());
    if (at >= 0 && !(input_type(i).shape[static_cast<size_t>(at)] == Dim(1))) return "";
    key += fmt::format(" %{}", input(i)->number());
  }
  return key;
}

std::unique_ptr<Node> Rotary::on_slice(const IndexRange& slice) const {
  auto node = std::make_unique<Rotary>(*this);
  node->rotation.axis = slice.axis;
  node->rotation.first = slice.start;
  node->rotation.count = slice.size;
  return node;
}

Result<std::vector<Type>> RotaryQuantize::infer() const {
  QC_ASSIGN(const Type x, decoded_type(input_type(0), loc()));
  QC_TRY(rotation.check(*this, x));
  if (rotation.norm && input_type(0).format) {
    return error(Code::quant, loc(), "a norm of codes before a rotation");
  }
  if (const Format* f = input_type(0).format.get();
      f && f->granularity != Granularity::tensor &&
      !(f->granularity == Granularity::axis && f->axis == rotation.axis)) {
    return error(Code::quant, loc(), "codes with scales {}", str(input_type(0)));
  }
  if (epilogue.floats) return error(Code::attribute, loc(), "{} keeps no floats", op());
  return epilogue.types(Type(DType::f32, x.shape), loc());
}

Result<Ok> RotaryQuantize::eval(EvalContext& c) const {
  Tensor y(DType::f32, c.in(0).shape());
  QC_TRY(rotation.eval(c, decoded(c.in(0), input_type(0)), y, loc()));
  eval_epilogue(epilogue, y, c, output()->type());
  return Ok{};
}

Result<Ok> RotaryQuantize::lower(Lowering& l) const {
  kernel::RotaryQuantize c;
  QC_TRY(fill(rotation, *this, l, c));
  const Type& x = l.in_type(0);
  c.x_type = x.format ? code_type(x.dtype) : QK_F32;
  if (x.format) {
    c.x_step = x.format->granularity == Granularity::tensor ? 0 : 1;
    c.x_scales = float_constant(l, divisors(*x.format, false));
    c.x_zeros = zero_constant(l, x);
  }
  QC_TRY(lower_epilogue(l, epilogue, c));
  l.emit(c);
  return Ok{};
}

}  // namespace qc
