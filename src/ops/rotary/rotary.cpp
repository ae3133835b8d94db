#include "ops/rotary/rotary.h"

#include "interp/eval.h"
#include "ir/capability.h"
#include "ir/op_table.h"
#include "ir/relations.h"
#include "kernels/common/codes.h"
#include "kernels/numerics/base.h"
#include "kernels/rotary/calls.h"
#include "ops/common/broadcast.h"
#include "ops/common/codes.h"
#include "ops/common/dispatch.h"
#include "ops/common/strided.h"
#include "ops/quantize/opening.h"
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

/// Turns elements of a type E computed as floats or doubles; others stay.
template <class E>
void turn_elements(const Turn& t, const BroadcastPlan& plan, const Tensor& x, const Tensor& cosine,
                   const Tensor& sine, Tensor& y) {
  using T = typename E::Element;
  const int64_t n = plan.dims.back().value(), half = n / 2, apart = t.interleaved ? 1 : half;
  const int64_t size = plan.dims[static_cast<size_t>(t.axis)].value();
  const int64_t inner = product(Dims(plan.dims.begin() + t.axis + 1, plan.dims.end())).value();
  for_each_offset(plan, [&](int64_t at, const int64_t* angle) {
    if (!t.turns(at / inner % size)) {
      E::store(y, at, E::load(x, at));
      return;
    }
    const int64_t i = at % n;
    const bool first = t.interleaved ? i % 2 == 0 : i < half;
    const T turned = first ? -E::load(x, at + apart) : E::load(x, at - apart);
    const T product = E::load(x, at) * E::load(cosine, angle[0]), by = E::load(sine, angle[1]);
    if constexpr (std::is_same_v<T, double>)
      E::store(y, at, qn_fma(turned, by, product));
    else
      E::store(y, at, qn_fmaf(turned, by, product));
  });
}

/// What calls that leave floats and calls that leave codes have in common.
template <class Call>
Result<Ok> fill(const Turn& turn, const Node& node, Lowering& l, Call& c) {
  BroadcastPlan plan;
  plan.dims = l.in_dims(0);
  plan.strides = {strides_in(node, 0), repeated_strides(l.in_dims(1), plan.dims),
                  repeated_strides(l.in_dims(2), plan.dims)};
  for (const Dim& stride : plan.strides[0]) QC_TRY(l.param(stride));
  Dim* const strides[] = {&c.x_at[0], &c.c[0], &c.s[0]};
  QC_TRY(fill_loops(l, plan, c.rank, c.dims, strides));
  c.interleaved = turn.interleaved;
  c.axis = turn.axis;
  c.first = turn.first;
  c.count = turn.count < 0 ? plan.dims[static_cast<size_t>(turn.axis)] : Dim(turn.count);
  c.x = l.in(0);
  c.cos = l.in(1);
  c.sin = l.in(2);
  return Ok{};
}

}  // namespace

const OpInfo Rotary::kInfo = {
    .name = "rotary",
    .min_inputs = 3,
    .max_inputs = 3,
    .summary = "rotary position embedding: pairs along the last axis turned by given angles",
};
const OpInfo RotaryQuantize::kStatic = {
    .name = "rotary_quantize",
    .min_inputs = 3,
    .max_inputs = 3,
    .traits = kQuantizedInFloat,
    .summary = "rotary, of floats or of codes, as codes",
};
const OpInfo RotaryQuantize::kDynamic = {
    .name = "rotary_quantize_dynamic",
    .min_inputs = 3,
    .max_inputs = 3,
    .outputs = 3,
    .traits = kQuantizedInFloat,
    .summary = "rotary, of floats or of codes, as codes with scales found at run time",
};

void Turn::visit(AttrVisitor& v) {
  v("interleaved", interleaved, false);
  v("axis", axis, int64_t{0});
  v("first", first, int64_t{0});
  v("count", count, int64_t{-1});
}

Result<Ok> Turn::check(const Node& node, const Type& x) const {
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
  return Ok{};
}

Result<Ok> Turn::eval(const Tensor& x, const Tensor& cosine, const Tensor& sine, Tensor& y,
                      const Loc& loc) const {
  BroadcastPlan plan;
  plan.dims = to_dims(x.shape());
  plan.strides = {repeated_strides(to_dims(cosine.shape()), plan.dims),
                  repeated_strides(to_dims(sine.shape()), plan.dims)};
  return for_arithmetic_type(x.dtype(), loc, [&](auto type) {
    using E = decltype(type);
    if constexpr (std::is_floating_point_v<typename E::Element>)
      turn_elements<E>(*this, plan, x, cosine, sine, y);
  });
}

Result<std::vector<Type>> Rotary::infer() const {
  const Type& x = input_type(0);
  QC_TRY(turn.check(*this, x));
  return std::vector<Type>{Type(x.dtype, x.shape)};
}

Result<Ok> Rotary::eval(EvalContext& c) const {
  return turn.eval(c.in(0), c.in(1), c.in(2), c.out(0), loc());
}

Result<Ok> Rotary::lower(Lowering& l) const {
  kernel::Rotary c;
  QC_TRY(fill(turn, *this, l, c));
  QC_ASSIGN(c.type, arithmetic_suffix(l.in_type(0).dtype, loc()));
  c.y = l.out();
  CallInfo info;
  if (!placed(input(0))) info.in_place = {{0, 0}};
  l.emit(c, info);
  return Ok{};
}

Result<Node*> Rotary::with_ending(const Ending& ending, const EndingPlace& place,
                                  std::string& reason) {
  Value* x = input(0);
  if (ending.floats || x->dtype() != DType::f32) {
    reason = ending.floats ? kReadAsFloats : "it is not f32";
    return static_cast<Node*>(nullptr);
  }
  auto fused = std::make_unique<RotaryQuantize>(ending.dynamic);
  fused->turn = turn;
  fused->ending = ending;
  Value* codes = codes_behind(x);
  if (const Format* f = codes ? codes->type().format.get() : nullptr;
      f && (f->granularity == Granularity::tensor ||
            (f->granularity == Granularity::axis && f->axis == turn.axis))) {
    x = codes;
  }
  return place.graph.add(std::move(fused), {x, input(1), input(2)}, place.loc, place.before);
}

std::string Rotary::part_key(int64_t axis) const {
  if (turn.count >= 0 || axis + 1 >= input_type(0).rank()) return "";
  std::string key = fmt::format("{} {}", op(), turn.interleaved);
  for (size_t i = 1; i < 3; ++i) {
    // Angles are the same for all indices of the axis.
    const int64_t at = axis - (input_type(0).rank() - input_type(i).rank());
    if (at >= 0 && !(input_type(i).shape[static_cast<size_t>(at)] == Dim(1))) return "";
    key += fmt::format(" %{}", input(i)->number());
  }
  return key;
}

std::unique_ptr<Node> Rotary::on_part(const IndexRange& part) const {
  auto node = std::make_unique<Rotary>(*this);
  node->turn.axis = part.axis;
  node->turn.first = part.start;
  node->turn.count = part.size;
  return node;
}

Result<std::vector<Type>> RotaryQuantize::infer() const {
  QC_ASSIGN(const Type x, decoded_type(input_type(0), loc()));
  QC_TRY(turn.check(*this, x));
  if (const Format* f = input_type(0).format.get();
      f && f->granularity != Granularity::tensor &&
      !(f->granularity == Granularity::axis && f->axis == turn.axis)) {
    return error(Code::quant, loc(), "codes with scales {}", str(input_type(0)));
  }
  if (ending.floats) return error(Code::attribute, loc(), "{} keeps no floats", op());
  return ending.types(Type(DType::f32, x.shape), loc());
}

Result<Ok> RotaryQuantize::eval(EvalContext& c) const {
  Tensor y(DType::f32, c.in(0).shape());
  QC_TRY(turn.eval(decoded(c.in(0), input_type(0)), c.in(1), c.in(2), y, loc()));
  eval_ending(ending, y, c, output()->type());
  return Ok{};
}

Result<Ok> RotaryQuantize::lower(Lowering& l) const {
  kernel::RotaryQuantize c;
  QC_TRY(fill(turn, *this, l, c));
  const Type& x = l.in_type(0);
  c.x_type = x.format ? code_type(x.dtype) : QK_F32;
  if (x.format) {
    c.x_step = x.format->granularity == Granularity::tensor ? 0 : 1;
    c.x_scales = float_constant(l, divisors(*x.format, false));
    c.x_zeros = zero_constant(l, x);
  }
  const Dims dims = l.in_dims(0);
  const Dim rows = product(Dims(dims.begin(), dims.end() - 1));
  QC_TRY(lower_ending(l, ending, c, rows, dims.back()));
  l.emit(c);
  return Ok{};
}

}  // namespace qc
