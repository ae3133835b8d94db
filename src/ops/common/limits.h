// Limits that a node applies to its own result before it stores it.
#pragma once

#include "ir/capability.h"
#include "ir/node.h"

namespace qc {

/// Whether kernels can limit results of this type to these limits while they compute them. Kernels
/// hold limits as f32 and compare floats only: f64 takes limits that are f32 numbers, an integer
/// result none at all.
inline bool can_limit(DType dtype, IsClamp::Limits limits) {
  if (limits.lo == -kInf && limits.hi == kInf) return true;
  auto is_f32 = [](double v) { return static_cast<double>(static_cast<float>(v)) == v; };
  return is_float(dtype) && (dtype != DType::f64 || (is_f32(limits.lo) && is_f32(limits.hi)));
}

/// Checks limits a node was given.
inline Result<Ok> check_limits(DType dtype, IsClamp::Limits limits, const Loc& loc) {
  if (!(limits.lo <= limits.hi)) {
    return error(Code::attribute, loc, "lower limit {} is above {}", limits.lo, limits.hi);
  }
  if (!can_limit(dtype, limits)) {
    return error(Code::type, loc, "a result of {} values cannot be limited to [{}, {}] here",
                 name(dtype), limits.lo, limits.hi);
  }
  return Ok{};
}

/// Narrows the limits `lo` and `hi` of a node with results of this type; false, with nothing
/// changed, when its kernels could not apply them.
inline bool absorb_limits(DType dtype, IsClamp::Limits limits, double& lo, double& hi) {
  const IsClamp::Limits both = narrow({lo, hi}, limits);
  if (!can_limit(dtype, both)) return false;
  lo = both.lo;
  hi = both.hi;
  return true;
}

}  // namespace qc
