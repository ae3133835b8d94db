/* The arithmetic of quantc: fused products, bit views, rounding, integer helpers.
 *
 * Valid as C11, C++20 and CUDA; the interpreter, the C kernels and generated code share this text.
 * The same input gives the same bits with every compiler and option, save -ffast-math and flush to
 * zero, because no product here ever meets an addition unless an fma says so: compilers contract
 * a * b + c, even across statements and inlined calls. The sign and payload of a NaN are not
 * promised. The rounding mode is to nearest even.
 */
#ifndef QN_BASE_H
#define QN_BASE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "quantc's arithmetic is not defined under -ffast-math"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "quantc's arithmetic needs float operations rounded to float: use SSE, not x87"
#endif

#if defined(__CUDACC__)
#define QN_FN static __host__ __device__ inline
#elif defined(__GNUC__)
#define QN_FN static inline __attribute__((unused))
#else
#define QN_FN static inline
#endif

#define QN_INF_F32 ((float)INFINITY)
#define QN_NAN_F32 ((float)NAN)
#define QN_INF_F64 ((double)INFINITY)
#define QN_NAN_F64 ((double)NAN)

/* ---- bit views ---- */

QN_FN uint32_t qn_bits_f32(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
QN_FN float qn_from_bits_f32(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}
QN_FN uint64_t qn_bits_f64(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
QN_FN double qn_from_bits_f64(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* cond ? a : b through masks: both sides are computed, so a loop around it vectorises. */
QN_FN float qn_select_f32(int cond, float a, float b) {
  const uint32_t mask = (uint32_t)0 - (uint32_t)(cond != 0);
  return qn_from_bits_f32((qn_bits_f32(a) & mask) | (qn_bits_f32(b) & ~mask));
}
QN_FN double qn_select_f64(int cond, double a, double b) {
  const uint64_t mask = (uint64_t)0 - (uint64_t)(cond != 0);
  return qn_from_bits_f64((qn_bits_f64(a) & mask) | (qn_bits_f64(b) & ~mask));
}

QN_FN float qn_abs_f32(float x) { return qn_from_bits_f32(qn_bits_f32(x) & 0x7fffffffu); }
QN_FN double qn_abs_f64(double x) {
  return qn_from_bits_f64(qn_bits_f64(x) & UINT64_C(0x7fffffffffffffff));
}
/* The magnitude of x with the sign of y. */
QN_FN float qn_copysign_f32(float x, float y) {
  return qn_from_bits_f32((qn_bits_f32(x) & 0x7fffffffu) | (qn_bits_f32(y) & 0x80000000u));
}
QN_FN double qn_copysign_f64(double x, double y) {
  return qn_from_bits_f64((qn_bits_f64(x) & UINT64_C(0x7fffffffffffffff)) |
                          (qn_bits_f64(y) & UINT64_C(0x8000000000000000)));
}
QN_FN int qn_isnan_f32(float x) { return (qn_bits_f32(x) & 0x7fffffffu) > 0x7f800000u; }
QN_FN int qn_isnan_f64(double x) {
  return (qn_bits_f64(x) & UINT64_C(0x7fffffffffffffff)) > UINT64_C(0x7ff0000000000000);
}
QN_FN int qn_isinf_f32(float x) { return (qn_bits_f32(x) & 0x7fffffffu) == 0x7f800000u; }
QN_FN int qn_isinf_f64(double x) {
  return (qn_bits_f64(x) & UINT64_C(0x7fffffffffffffff)) == UINT64_C(0x7ff0000000000000);
}

/* ---- fused and plain products ---- */

/* a * b + c, rounded once, without an fma of any kind: the double sum is rounded to odd, so the
 * last rounding to float is the only one that counts. */
QN_FN float qn_soft_fmaf(float a, float b, float c) {
  const double product = (double)a * (double)b; /* exact */
  const double sum = product + (double)c;
  const double part = sum - product;
  const double error = (product - (sum - part)) + ((double)c - part);
  const uint64_t u = qn_bits_f64(sum);
  const uint64_t finite = (u & UINT64_C(0x7ff0000000000000)) != UINT64_C(0x7ff0000000000000);
  const uint64_t move = (uint64_t)(error != 0.0) & finite & ~u & 1u;
  const uint64_t outward = (error > 0.0) == (sum > 0.0);
  return (float)qn_from_bits_f64(outward ? u + move : u - move);
}

/* a * b + c, rounded once. Define QN_SOFT_FMA for cores whose library fmaf rounds twice. */
QN_FN float qn_fmaf(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#elif defined(QN_SOFT_FMA)
  return qn_soft_fmaf(a, b, c);
#else
  return fmaf(a, b, c);
#endif
}
QN_FN double qn_fma(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return fma(a, b, c);
#endif
}

/* a * b, rounded, and never fused with what is later added to it. With fma hardware the product is
 * an fma whose addend is a zero of the product's own sign, which keeps every bit and vectorises;
 * elsewhere an empty asm hides the product from the compiler. */
QN_FN float qn_mulf(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#elif defined(__FMA__) || defined(QK_TARGET_FMA) || defined(__aarch64__) || \
    defined(__ARM_FEATURE_FMA) || !defined(__GNUC__)
  return fmaf(a, b, qn_from_bits_f32((qn_bits_f32(a) ^ qn_bits_f32(b)) & 0x80000000u));
#else
  float p = a * b;
#if defined(__SSE__)
  __asm__("" : "+x"(p));
#else
  __asm__("" : "+r"(p));
#endif
  return p;
#endif
}
QN_FN double qn_mul(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#elif defined(__FMA__) || defined(QK_TARGET_FMA) || defined(__aarch64__) || \
    defined(__ARM_FEATURE_FMA) || !defined(__GNUC__)
  return fma(a, b,
             qn_from_bits_f64((qn_bits_f64(a) ^ qn_bits_f64(b)) & UINT64_C(0x8000000000000000)));
#else
  double p = a * b;
#if defined(__SSE2__)
  __asm__("" : "+x"(p));
#else
  __asm__("" : "+m"(p));
#endif
  return p;
#endif
}

/* ---- comparisons with NaN rules ---- */

/* A NaN in either operand is the answer; of equal operands (+0, -0) the second is. */
QN_FN float qn_max_f32(float a, float b) { return ((a > b) | (a != a)) ? a : b; }
QN_FN float qn_min_f32(float a, float b) { return ((a < b) | (a != a)) ? a : b; }
QN_FN double qn_max_f64(double a, double b) { return ((a > b) | (a != a)) ? a : b; }
QN_FN double qn_min_f64(double a, double b) { return ((a < b) | (a != a)) ? a : b; }
/* min(max(x, lo), hi); a NaN x stays NaN; hi wins when lo > hi. */
QN_FN float qn_clamp_f32(float x, float lo, float hi) {
  const float y = x < lo ? lo : x;
  return y > hi ? hi : y;
}
QN_FN double qn_clamp_f64(double x, double lo, double hi) {
  const double y = x < lo ? lo : x;
  return y > hi ? hi : y;
}

/* ---- rounding to integral values ---- */

QN_FN float qn_floor_f32(float x) { return floorf(x); }
QN_FN double qn_floor_f64(double x) { return floor(x); }
QN_FN float qn_ceil_f32(float x) { return ceilf(x); }
QN_FN double qn_ceil_f64(double x) { return ceil(x); }
QN_FN float qn_trunc_f32(float x) { return truncf(x); }
QN_FN double qn_trunc_f64(double x) { return trunc(x); }
/* Half to even. */
#if defined(__arm__) && defined(__ARM_FP) && !defined(__ARM_FEATURE_DIRECTED_ROUNDING)
/* Such cores have no instruction for it, and rintf is a call. Below 2^23 adding 2^23 rounds. */
QN_FN float qn_round_f32(float x) {
  const float most = 8388608.0f, magnitude = qn_abs_f32(x);
  return qn_copysign_f32(magnitude < most ? (magnitude + most) - most : magnitude, x);
}
#else
QN_FN float qn_round_f32(float x) { return rintf(x); }
#endif
QN_FN double qn_round_f64(double x) { return rint(x); }
/* Half away from zero. */
QN_FN float qn_round_away_f32(float x) {
  const float t = truncf(x);
  const float up = qn_select_f32(qn_abs_f32(x - t) >= 0.5f, 1.0f, 0.0f);
  return qn_copysign_f32(qn_abs_f32(t) + up, x);
}

/* ---- remainders ---- */

/* The remainder with the sign of a (C fmod, exact). */
QN_FN float qn_fmod_f32(float a, float b) { return fmodf(a, b); }
QN_FN double qn_fmod_f64(double a, double b) { return fmod(a, b); }
/* The remainder with the sign of b (Python %). */
QN_FN float qn_mod_f32(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f ? (((r < 0.0f) != (b < 0.0f)) ? r + b : r) : qn_copysign_f32(0.0f, b) + r;
}
QN_FN double qn_mod_f64(double a, double b) {
  const double r = fmod(a, b);
  return r != 0.0 ? (((r < 0.0) != (b < 0.0)) ? r + b : r) : qn_copysign_f64(0.0, b) + r;
}
/* The floor of the quotient, consistent with qn_mod (Python //); a / b when b is 0. */
QN_FN double qn_floor_div_f64(double a, double b) {
  const double r = fmod(a, b);
  double q = (a - r) / b;
  double f;
  if (b == 0.0) return a / b;
  if (r != 0.0 && (r < 0.0) != (b < 0.0)) q -= 1.0;
  if (q == 0.0) return qn_copysign_f64(0.0, a / b);
  f = floor(q);
  return q - f > 0.5 ? f + 1.0 : f;
}
QN_FN float qn_floor_div_f32(float a, float b) {
  const float r = fmodf(a, b);
  float q = (a - r) / b;
  float f;
  if (b == 0.0f) return a / b;
  if (r != 0.0f && (r < 0.0f) != (b < 0.0f)) q -= 1.0f;
  if (q == 0.0f) return qn_copysign_f32(0.0f, a / b);
  f = floorf(q);
  return q - f > 0.5f ? f + 1.0f : f;
}

#endif /* QN_BASE_H */
