// What quantized ops share: formats with one static scale, and codes as kernels see them.
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/numerics/code_types.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/numerics/quant_q31.h"
#include "quant/quant_node.h"

namespace qc {

/// Limits on codes that limit nothing.
inline constexpr int64_t kNoLowCode = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kNoHighCode = std::numeric_limits<int64_t>::max();

/// One static scale for all elements, codes of at most 16 bits.
inline bool has_one_scale(const QType& type) {
  return type.format && type.format->granularity == Granularity::tensor &&
         !type.format->is_dynamic() && bits(type.dtype) <= 16;
}

inline Result<Ok> check_one_scale(const QType& type, const Loc& loc) {
  if (has_one_scale(type)) return Ok{};
  return error(Code::quant, loc, "expected codes of at most 16 bits with one static scale, got {}",
               str(type));
}

/// The number kernels know an element type of codes by; sub-byte codes take a byte each.
inline int32_t code_type(DType dtype) {
  if (bits(dtype) <= 8) return is_signed(dtype) ? QK_I8 : QK_U8;
  return is_signed(dtype) ? QK_I16 : QK_U16;
}

/// The codes a result may have: those of its format within the limits lo and hi.
struct CodeLimits {
  int32_t lo, hi;
};
inline CodeLimits code_limits(const QType& to, int64_t lo = kNoLowCode, int64_t hi = kNoHighCode) {
  const int64_t low = std::clamp(lo, to.format->qmin, to.format->qmax);
  const int64_t high = std::clamp(hi, to.format->qmin, to.format->qmax);
  return {static_cast<int32_t>(low), static_cast<int32_t>(high)};
}

/// What encoding divides by, or multiplies by where `reciprocal`.
struct Encoding {
  float divisor;
  int32_t reciprocal;
};
inline Encoding encoding(const Format& to, const Arithmetic& arithmetic) {
  if (arithmetic.quantize == Arithmetic::Quantize::divide) return {to.scale_at(), 0};
  const Tensor& s = to.scale.values;
  const bool wide = s.dtype() == DType::f64;
  return {wide ? static_cast<float>(1.0 / s.as_double(0)) : 1.0f / s.data<float>()[0], 1};
}

/// A multiplier as integers: `on` where the arithmetic rescales with integers only.
struct Q31 {
  int32_t on = 0, mantissa = 0, shift = 0;
};
inline Q31 q31_of(float multiplier, const Arithmetic& arithmetic) {
  Q31 q{arithmetic.rescale == Arithmetic::Rescale::q31};
  qn_q31_from_f32(multiplier, &q.mantissa, &q.shift);
  return q;
}

/// The code a limit of a clamp has: limiting codes to it is limiting values, then encoding them.
inline int64_t limit_code(double limit, const QType& to, const Arithmetic& arithmetic) {
  const Encoding e = encoding(*to.format, arithmetic);
  return qn_encode(static_cast<float>(limit), e.divisor, e.reciprocal, to.format->zero_at(),
                   static_cast<int32_t>(to.format->qmin), static_cast<int32_t>(to.format->qmax));
}

}  // namespace qc
