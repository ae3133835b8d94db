#include "ops/rotary/rotary.h"

#include "interp/eval.h"
#include "ir/relations.h"
#include "kernels/numerics/base.h"
#include "kernels/rotary/calls.h"
#include "ops/common/broadcast.h"
#include "ops/common/dispatch.h"
#include "ops/common/strided.h"
#include "program/lowering.h"

namespace qc {
namespace {

constexpr int64_t kMaxRank = 8;

/// Element strides with which an operand of `shape` is walked beside x of `full`.
Dims repeated_strides(const Dims& shape, const Dims& full) {
  Dims out(full.size());
  const Dims own = strides_of(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(shape[i] == 1)) out[full.size() - shape.size() + i] = own[i];
  }
  return out;
}

/// Turns all elements of a type E computed as floats or doubles.
template <class E>
void turn(const BroadcastPlan& plan, bool interleaved, const Tensor& x, const Tensor& cosine,
          const Tensor& sine, Tensor& y) {
  using T = typename E::Element;
  const int64_t n = plan.dims.back().value(), half = n / 2, apart = interleaved ? 1 : half;
  for_each_offset(plan, [&](int64_t at, const int64_t* angle) {
    const int64_t i = at % n;
    const bool first = interleaved ? i % 2 == 0 : i < half;
    const T turned = first ? -E::load(x, at + apart) : E::load(x, at - apart);
    const T product = E::load(x, at) * E::load(cosine, angle[0]), by = E::load(sine, angle[1]);
    if constexpr (std::is_same_v<T, double>)
      E::store(y, at, qn_fma(turned, by, product));
    else
      E::store(y, at, qn_fmaf(turned, by, product));
  });
}

}  // namespace

const OpInfo Rotary::kInfo = {
    .name = "rotary",
    .min_inputs = 3,
    .max_inputs = 3,
    .summary = "rotary position embedding: pairs along the last axis turned by given angles",
};

Result<std::vector<Type>> Rotary::infer() const {
  const Type& x = input_type(0);
  if (!is_float(x.dtype) || bits(x.dtype) < 16) {
    return error(Code::type, loc(), "a rotation of {} values", name(x.dtype));
  }
  if (x.rank() < 1 || x.rank() > kMaxRank) {
    return error(Code::shape, loc(), "a rotation of rank {}, expected 1 to {}", x.rank(), kMaxRank);
  }
  if (const Dim& n = x.shape.back(); differ(mod(n, 2), 0)) {
    return error(Code::shape, loc(), "pairs of {} elements", n.str());
  }
  for (size_t i = 1; i < 3; ++i) {
    const Type& angles = input_type(i);
    if (angles.dtype != x.dtype) {
      return error(Code::type, loc(), "angles of {} for {} values", name(angles.dtype),
                   name(x.dtype));
    }
    QC_ASSIGN(const Dims both, broadcast(x.shape, angles.shape, loc()));
    if (both != x.shape) {
      return error(Code::shape, loc(), "angles of shape {} for values of shape {}",
                   str(angles.shape), str(x.shape));
    }
  }
  return std::vector<Type>{Type(x.dtype, x.shape)};
}

Result<Ok> Rotary::eval(EvalContext& c) const {
  const Tensor &x = c.in(0), &cosine = c.in(1), &sine = c.in(2);
  Tensor& y = c.out(0);
  BroadcastPlan plan;
  plan.dims = to_dims(x.shape());
  plan.strides = {repeated_strides(to_dims(cosine.shape()), plan.dims),
                  repeated_strides(to_dims(sine.shape()), plan.dims)};
  return for_arithmetic_type(x.dtype(), loc(), [&](auto type) {
    using E = decltype(type);
    if constexpr (std::is_floating_point_v<typename E::Element>)
      turn<E>(plan, interleaved, x, cosine, sine, y);
  });
}

Result<Ok> Rotary::lower(Lowering& l) const {
  kernel::Rotary c;
  BroadcastPlan plan;
  plan.dims = l.in_dims(0);
  plan.strides = {repeated_strides(l.in_dims(1), plan.dims),
                  repeated_strides(l.in_dims(2), plan.dims)};
  Dim* const strides[] = {c.c, c.s};
  QC_TRY(fill_loops(l, plan, c.rank, c.dims, strides));
  c.interleaved = interleaved;
  QC_ASSIGN(c.type, arithmetic_suffix(l.in_type(0).dtype, loc()));
  c.x = l.in(0);
  c.cos = l.in(1);
  c.sin = l.in(2);
  c.y = l.out();
  l.emit(c, {.in_place = {{0, 0}}});
  return Ok{};
}

}  // namespace qc
