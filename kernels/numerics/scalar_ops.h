/* The scalar operations of scalar_ops.inc that are not functions of math_f32.h, math_f64.h,
 * trig_f64.h, erf_f64.h or gamma_f64.h, as qn_NAME_TYPE.
 */
#ifndef QN_SCALAR_OPS_H
#define QN_SCALAR_OPS_H

#include "base.h"
#include "erf_f64.h"
#include "gamma_f64.h"
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

/* fma and mul are qn_fmaf, qn_mulf for float and qn_fma, qn_mul for double. */
#define QN_DEFINE_FLOAT_OPS(t, T, fma_fn, mul_fn, top)                                             \
  QN_FN T qn_neg_##t(T x) { return -x; }                                                           \
  /* -1, 1, or x itself when it is a zero or NaN. */                                               \
  QN_FN T qn_sign_##t(T x) {                                                                       \
    return qn_select_##t(x > (T)0, (T)1, qn_select_##t(x < (T)0, (T)-1, x));                       \
  }                                                                                                \
  QN_FN T qn_square_##t(T x) { return mul_fn(x, x); }                                              \
  QN_FN T qn_relu_##t(T x) { return x < (T)0 ? (T)0 : x; }                                         \
  QN_FN T qn_frac_##t(T x) { return x - qn_trunc_##t(x); }                                         \
  /* x below 0 scaled by alpha. */                                                                 \
  QN_FN T qn_leaky_relu_##t(T x, T alpha, T unused) {                                              \
    (void)unused;                                                                                  \
    return qn_select_##t(x < (T)0, mul_fn(alpha, x), x);                                           \
  }                                                                                                \
  QN_FN T qn_elu_##t(T x, T alpha, T unused) {                                                     \
    (void)unused;                                                                                  \
    return qn_select_##t(x < (T)0, mul_fn(alpha, qn_expm1_##t(x)), x);                             \
  }                                                                                                \
  QN_FN T qn_celu_##t(T x, T alpha, T unused) {                                                    \
    (void)unused;                                                                                  \
    return qn_select_##t(x < (T)0, mul_fn(alpha, qn_expm1_##t(x / alpha)), x);                     \
  }                                                                                                \
  QN_FN T qn_selu_##t(T x, T alpha, T gamma) {                                                     \
    return mul_fn(gamma, qn_select_##t(x < (T)0, alpha * qn_expm1_##t(x), x));                     \
  }                                                                                                \
  QN_FN T qn_hard_sigmoid_##t(T x, T alpha, T beta) {                                              \
    return qn_clamp_##t(fma_fn(alpha, x, beta), (T)0, (T)1);                                       \
  }                                                                                                \
  QN_FN T qn_threshold_##t(T x, T threshold, T value) { return x <= threshold ? value : x; }       \
  QN_FN T qn_thresholded_relu_##t(T x, T alpha, T unused) {                                        \
    (void)unused;                                                                                  \
    return x <= alpha ? (T)0 : x;                                                                  \
  }                                                                                                \
  /* 0 within [-lambd, lambd], else x moved towards 0 by bias. */                                  \
  QN_FN T qn_shrink_##t(T x, T lambd, T bias) {                                                    \
    const T inner = qn_select_##t(x > lambd, x - bias, x == x ? (T)0 : x);                         \
    return qn_select_##t(x < -lambd, x + bias, inner);                                             \
  }                                                                                                \
  /* x * sigmoid(alpha x). */                                                                      \
  QN_FN T qn_swish_##t(T x, T alpha, T unused) {                                                   \
    (void)unused;                                                                                  \
    return mul_fn(x, qn_sigmoid_##t(alpha * x));                                                   \
  }                                                                                                \
  /* log(1 + e^(beta x)) / beta, x itself where beta x is above the threshold. */                  \
  QN_FN T qn_softplus_beta_##t(T x, T beta, T threshold) {                                         \
    const T bx = mul_fn(beta, x);                                                                  \
    return qn_select_##t(bx > threshold, x, qn_softplus_##t(bx) / beta);                           \
  }                                                                                                \
  QN_FN T qn_scaled_tanh_##t(T x, T alpha, T beta) {                                               \
    return mul_fn(alpha, qn_tanh_##t(beta * x));                                                   \
  }                                                                                                \
  QN_FN T qn_affine_##t(T x, T alpha, T beta) { return fma_fn(alpha, x, beta); }                   \
  QN_FN T qn_add_##t(T a, T b) { return a + b; }                                                   \
  QN_FN T qn_sub_##t(T a, T b) { return a - b; }                                                   \
  QN_FN T qn_mul_##t(T a, T b) { return mul_fn(a, b); }                                            \
  QN_FN T qn_div_##t(T a, T b) { return a / b; }                                                   \
  QN_FN T qn_prelu_##t(T x, T slope) { return qn_select_##t(x < (T)0, mul_fn(slope, x), x); }      \
  /* a log(b), 0 where a is 0 and b is not NaN. */                                                 \
  QN_FN T qn_xlogy_##t(T a, T b) { return a == (T)0 && b == b ? (T)0 : mul_fn(a, qn_log_##t(b)); } \
  /* log(e^a + e^b) without overflow. */                                                           \
  QN_FN T qn_logaddexp_##t(T a, T b) {                                                             \
    return a == b ? a + (T)0x1.62e42fefa39efp-1                                                    \
                  : qn_max_##t(a, b) + qn_log1p_##t(qn_exp_##t(-qn_abs_##t(a - b)));               \
  }                                                                                                \
  /* The other operand when one is NaN. */                                                         \
  QN_FN T qn_fmax_##t(T a, T b) { return a > b || b != b ? a : b; }                                \
  QN_FN T qn_fmin_##t(T a, T b) { return a < b || b != b ? a : b; }                                \
  /* 0 below 0, 1 above, b at 0. */                                                                \
  QN_FN T qn_heaviside_##t(T a, T b) {                                                             \
    return a == (T)0 ? b : a < (T)0 ? (T)0 : a > (T)0 ? (T)1 : a;                                  \
  }                                                                                                \
  /* log(x / (1 - x)) of x limited to [eps, 1 - eps]; unlimited when eps is negative. */           \
  QN_FN T qn_logit_##t(T x, T eps, T unused) {                                                     \
    const T z = eps < (T)0 ? x : qn_clamp_##t(x, eps, (T)1 - eps);                                 \
    (void)unused;                                                                                  \
    return qn_log_##t(z / ((T)1 - z));                                                             \
  }                                                                                                \
  QN_FN int qn_isfinite_##t(T x) { return (double)qn_abs_##t(x) < QN_INF_F64; }                    \
  QN_FN int qn_signbit_##t(T x) { return qn_bits_##t(x) >= (top); }

QN_DEFINE_FLOAT_OPS(f32, float, qn_fmaf, qn_mulf, 0x80000000u)
QN_DEFINE_FLOAT_OPS(f64, double, qn_fma, qn_mul, UINT64_C(0x8000000000000000))
#undef QN_DEFINE_FLOAT_OPS

/* ---- integers: everything wraps; a division by 0 gives 0 ---- */

#define QN_BELOW_0(x) ((x) < 0)
#define QN_NEVER(x) 0
#define QN_DEFINE_INT_OPS(t, T, U, bits, below_0)                                         \
  QN_FN T qn_neg_##t(T x) { return (T)((U)0 - (U)x); }                                    \
  QN_FN T qn_abs_##t(T x) { return (T)(x > 0 ? (U)x : (U)0 - (U)x); }                     \
  QN_FN T qn_sign_##t(T x) { return (T)((x > 0) - below_0(x)); }                          \
  QN_FN T qn_square_##t(T x) { return (T)((U)x * (U)x); }                                 \
  QN_FN T qn_relu_##t(T x) { return (T)(x > 0 ? x : 0); }                                 \
  QN_FN T qn_bit_not_##t(T x) { return (T) ~(U)x; }                                       \
  QN_FN T qn_add_##t(T a, T b) { return (T)((U)a + (U)b); }                               \
  QN_FN T qn_sub_##t(T a, T b) { return (T)((U)a - (U)b); }                               \
  QN_FN T qn_mul_##t(T a, T b) { return (T)((U)a * (U)b); }                               \
  /* Towards zero. */                                                                     \
  QN_FN T qn_div_##t(T a, T b) {                                                          \
    if (b == 0) return 0;                                                                 \
    return (T)(below_0(b) && b == (T)-1 ? qn_neg_##t(a) : a / b);                         \
  }                                                                                       \
  /* The remainder with the sign of a. */                                                 \
  QN_FN T qn_fmod_##t(T a, T b) {                                                         \
    if (b == 0 || (below_0(b) && b == (T)-1)) return 0;                                   \
    return (T)(a % b);                                                                    \
  }                                                                                       \
  /* The remainder with the sign of b. */                                                 \
  QN_FN T qn_mod_##t(T a, T b) {                                                          \
    const T r = qn_fmod_##t(a, b);                                                        \
    return (T)(r != 0 && below_0(r) != below_0(b) ? r + b : r);                           \
  }                                                                                       \
  /* Towards minus infinity. */                                                           \
  QN_FN T qn_floor_div_##t(T a, T b) {                                                    \
    const T q = qn_div_##t(a, b), r = qn_fmod_##t(a, b);                                  \
    return (T)(r != 0 && below_0(r) != below_0(b) ? q - 1 : q);                           \
  }                                                                                       \
  /* By squaring; a negative exponent leaves what truncation would. */                    \
  QN_FN T qn_pow_##t(T a, T b) {                                                          \
    U base = (U)a, r = 1;                                                                 \
    if (below_0(b)) return a == 1 ? 1 : a == (T)-1 ? (b % 2 ? (T)-1 : 1) : 0;             \
    for (; b > 0; b = (T)(b / 2), base *= base)                                           \
      if (b % 2) r *= base;                                                               \
    return (T)r;                                                                          \
  }                                                                                       \
  QN_FN T qn_max_##t(T a, T b) { return a > b ? a : b; }                                  \
  QN_FN T qn_min_##t(T a, T b) { return a < b ? a : b; }                                  \
  QN_FN T qn_clamp_##t(T x, T lo, T hi) { return qn_min_##t(qn_max_##t(x, lo), hi); }     \
  QN_FN T qn_bit_and_##t(T a, T b) { return (T)(a & b); }                                 \
  QN_FN T qn_bit_or_##t(T a, T b) { return (T)(a | b); }                                  \
  QN_FN T qn_bit_xor_##t(T a, T b) { return (T)(a ^ b); }                                 \
  /* Distances outside [0, bits) shift everything out. */                                 \
  QN_FN T qn_shl_##t(T a, T b) { return (T)(!below_0(b) && b < (bits) ? (U)a << b : 0); } \
  QN_FN T qn_shr_##t(T a, T b) {                                                          \
    return (T)(!below_0(b) && b < (bits) ? a >> b : below_0(a) ? (T)-1 : 0);              \
  }

QN_DEFINE_INT_OPS(i8, int8_t, uint32_t, 8, QN_BELOW_0)
QN_DEFINE_INT_OPS(i16, int16_t, uint32_t, 16, QN_BELOW_0)
QN_DEFINE_INT_OPS(i32, int32_t, uint32_t, 32, QN_BELOW_0)
QN_DEFINE_INT_OPS(i64, int64_t, uint64_t, 64, QN_BELOW_0)
QN_DEFINE_INT_OPS(u8, uint8_t, uint32_t, 8, QN_NEVER)
QN_DEFINE_INT_OPS(u16, uint16_t, uint32_t, 16, QN_NEVER)
QN_DEFINE_INT_OPS(u32, uint32_t, uint32_t, 32, QN_NEVER)
QN_DEFINE_INT_OPS(u64, uint64_t, uint64_t, 64, QN_NEVER)
#undef QN_DEFINE_INT_OPS
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
