/* The scalar operations of scalar_ops.inc that are not functions of math_f32.h, math_f64.h,
 * trig_f64.h, erf_f64.h or gamma_f64.h, as qn_NAME_TYPE.
 */
#ifndef QN_SCALAR_OPS_H
#define QN_SCALAR_OPS_H

#include "base.h"
#include "erf_f64.h"
#include "gamma_f64.h"
#include "kernels/common/body.h"
#include "math_f32.h"
#include "math_f64.h"
#include "trig_f64.h"

/* ---- rare functions of a float: the double function, rounded ---- */

/* sin(pi x) / (pi x). */
QN_FN double qn_sinc_f64(double x) {
  return x == 0.0 ? 1.0 : qn_sin_pi_f64(x, 0) / (0x1.921fb54442d18p+1 * x);
}

#define QN_THROUGH_F64(name) \
  QN_FN float qn_##name##_f32(float x) { return (float)qn_##name##_f64((double)x); }
QN_THROUGH_F64(log2)
QN_THROUGH_F64(log10)
QN_THROUGH_F64(sin)
QN_THROUGH_F64(cos)
QN_THROUGH_F64(tan)
QN_THROUGH_F64(asin)
QN_THROUGH_F64(acos)
QN_THROUGH_F64(atan)
QN_THROUGH_F64(sinh)
QN_THROUGH_F64(cosh)
QN_THROUGH_F64(asinh)
QN_THROUGH_F64(acosh)
QN_THROUGH_F64(atanh)
QN_THROUGH_F64(erfc)
QN_THROUGH_F64(erfinv)
QN_THROUGH_F64(lgamma)
QN_THROUGH_F64(digamma)
QN_THROUGH_F64(sinc)
#undef QN_THROUGH_F64

QN_FN float qn_atan2_f32(float y, float x) { return (float)qn_atan2_f64((double)y, (double)x); }
QN_FN float qn_hypot_f32(float x, float y) { return (float)qn_hypot_f64((double)x, (double)y); }
/* x^y; a square is the rounded product. */
QN_FN float qn_pow_f32(float x, float y) {
  return y == 2.0f ? qn_mulf(x, x) : (float)qn_pow_f64((double)x, (double)y);
}

/* ---- floats ---- */

#define QK_WITH f32, float, qn_fmaf, qn_mulf, 0x80000000u
#include "kernels/numerics/float_ops.inc"
#define QK_WITH f64, double, qn_fma, qn_mul, UINT64_C(0x8000000000000000)
#include "kernels/numerics/float_ops.inc"

/* ---- integers: everything wraps; a division by 0 gives 0 ---- */

#define QN_BELOW_0(x) ((x) < 0)
#define QN_NEVER(x) 0

#define QK_WITH i8, int8_t, uint32_t, 8, QN_BELOW_0
#include "kernels/numerics/int_ops.inc"
#define QK_WITH i16, int16_t, uint32_t, 16, QN_BELOW_0
#include "kernels/numerics/int_ops.inc"
#define QK_WITH i32, int32_t, uint32_t, 32, QN_BELOW_0
#include "kernels/numerics/int_ops.inc"
#define QK_WITH i64, int64_t, uint64_t, 64, QN_BELOW_0
#include "kernels/numerics/int_ops.inc"
#define QK_WITH u8, uint8_t, uint32_t, 8, QN_NEVER
#include "kernels/numerics/int_ops.inc"
#define QK_WITH u16, uint16_t, uint32_t, 16, QN_NEVER
#include "kernels/numerics/int_ops.inc"
#define QK_WITH u32, uint32_t, uint32_t, 32, QN_NEVER
#include "kernels/numerics/int_ops.inc"
#define QK_WITH u64, uint64_t, uint64_t, 64, QN_NEVER
#include "kernels/numerics/int_ops.inc"
#undef QN_BELOW_0
#undef QN_NEVER

/* ---- comparisons and logic ---- */

#define QN_DEFINE_COMPARE(t, T)                                   \
  QN_FN uint8_t qn_eq_##t(T a, T b) { return (uint8_t)(a == b); } \
  QN_FN uint8_t qn_ne_##t(T a, T b) { return (uint8_t)(a != b); } \
  QN_FN uint8_t qn_lt_##t(T a, T b) { return (uint8_t)(a < b); }  \
  QN_FN uint8_t qn_le_##t(T a, T b) { return (uint8_t)(a <= b); } \
  QN_FN uint8_t qn_gt_##t(T a, T b) { return (uint8_t)(a > b); }  \
  QN_FN uint8_t qn_ge_##t(T a, T b) { return (uint8_t)(a >= b); }
QN_DEFINE_COMPARE(f32, float)
QN_DEFINE_COMPARE(f64, double)
QN_DEFINE_COMPARE(i8, int8_t)
QN_DEFINE_COMPARE(i16, int16_t)
QN_DEFINE_COMPARE(i32, int32_t)
QN_DEFINE_COMPARE(i64, int64_t)
QN_DEFINE_COMPARE(u8, uint8_t)
QN_DEFINE_COMPARE(u16, uint16_t)
QN_DEFINE_COMPARE(u32, uint32_t)
QN_DEFINE_COMPARE(u64, uint64_t)
#undef QN_DEFINE_COMPARE

QN_FN uint8_t qn_and_bool(uint8_t a, uint8_t b) { return (uint8_t)((a != 0) & (b != 0)); }
QN_FN uint8_t qn_or_bool(uint8_t a, uint8_t b) { return (uint8_t)((a != 0) | (b != 0)); }
QN_FN uint8_t qn_xor_bool(uint8_t a, uint8_t b) { return (uint8_t)((a != 0) ^ (b != 0)); }
QN_FN uint8_t qn_not_bool(uint8_t a) { return (uint8_t)(a == 0); }

#endif /* QN_SCALAR_OPS_H */
