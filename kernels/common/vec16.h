/* Sixteen floats at once: one, two or four vector registers, or a plain array where the target has
 * none of the instructions below. Lane arithmetic is that of kernels/numerics/base.h on each lane,
 * so results do not depend on which form is compiled.
 */
#ifndef QK_VEC16_H
#define QK_VEC16_H

#include "kernels/common/inline.h"
#include "kernels/common/lanes.h"
#include "kernels/common/shared.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/dot.h"

#if defined(QK_TARGET_AVX512)
#define QK_VEC16_REGISTERS 1
#elif defined(QK_TARGET_AVX2)
#define QK_VEC16_REGISTERS 2
#elif defined(QK_TARGET_NEON)
#define QK_VEC16_REGISTERS 4
#else
#define QK_VEC16_REGISTERS 0
#endif

#if defined(__CUDA_ARCH__)
#define QK_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__) /* compilers of the host would warn */
#define QK_UNROLL
#elif defined(__clang__)
#define QK_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define QK_UNROLL _Pragma("GCC unroll 16")
#else
#define QK_UNROLL
#endif

/* Before a loop whose copies would each keep their addresses on the stack. */
#if defined(__CUDA_ARCH__)
#define QK_ROLLED _Pragma("unroll 1")
#elif defined(__CUDACC__)
#define QK_ROLLED
#elif defined(__clang__)
#define QK_ROLLED _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define QK_ROLLED _Pragma("GCC unroll 1")
#else
#define QK_ROLLED
#endif

/* The 16 lanes of an array. Where they are no vector, unrolled in part: unrolled fully, every lane
 * would be a variable of its own on the stack. */
#if QK_VEC16_REGISTERS || (defined(__CUDACC__) && !defined(__CUDA_ARCH__))
#define QK_LANES(j) for (int j = 0; j < 16; ++j)
#elif defined(__CUDA_ARCH__)
#define QK_LANES(j) _Pragma("unroll") for (int j = 0; j < 16; ++j)
#elif defined(__clang__)
#define QK_LANES(j) _Pragma("clang loop unroll_count(4)") for (int j = 0; j < 16; ++j)
#elif defined(__GNUC__)
#define QK_LANES(j) _Pragma("GCC unroll 4") for (int j = 0; j < 16; ++j)
#else
#define QK_LANES(j) for (int j = 0; j < 16; ++j)
#endif

#if QK_VEC16_REGISTERS == 1 || QK_VEC16_REGISTERS == 2
#include <immintrin.h>
#elif QK_VEC16_REGISTERS == 4
#include <arm_neon.h>
#endif

#if QK_VEC16_REGISTERS == 1

typedef __m512 qk_v16;

QK_INLINE qk_v16 qk_v16_set(float x) { return _mm512_set1_ps(x); }
QK_INLINE qk_v16 qk_v16_load(const float* p) { return _mm512_loadu_ps(p); }
QK_INLINE void qk_v16_store(float* p, qk_v16 v) { _mm512_storeu_ps(p, v); }
/* Of the first n lanes; the others are 0 when loaded. 0 <= n <= 16. */
QK_INLINE qk_v16 qk_v16_load_n(const float* p, int32_t n) {
  return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p);
}
QK_INLINE void qk_v16_store_n(float* p, qk_v16 v, int32_t n) {
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), v);
}
QK_INLINE qk_v16 qk_v16_fma(qk_v16 a, qk_v16 b, qk_v16 c) { return _mm512_fmadd_ps(a, b, c); }
/* Compilers do not see the rounded product, so they do not fuse it with the sum. */
QK_INLINE qk_v16 qk_v16_dot_step(qk_v16 a, qk_v16 b, qk_v16 sum) {
#if defined(QN_DOT_MUL_ADD)
  qk_v16 product = _mm512_mul_ps(a, b);
  __asm__("" : "+v"(product));
  return _mm512_add_ps(product, sum);
#else
  return _mm512_fmadd_ps(a, b, sum);
#endif
}
QK_INLINE qk_v16 qk_v16_add(qk_v16 a, qk_v16 b) { return _mm512_add_ps(a, b); }
/* For products that no addition reads: compilers may contract. */
QK_INLINE qk_v16 qk_v16_mul(qk_v16 a, qk_v16 b) { return _mm512_mul_ps(a, b); }
/* Within lo..hi; a NaN is lo. */
QK_INLINE qk_v16 qk_v16_within(qk_v16 x, qk_v16 lo, qk_v16 hi) {
  return _mm512_min_ps(_mm512_max_ps(x, lo), hi);
}
/* max and min give their second operand when one is NaN or both are zeros. */
QK_INLINE qk_v16 qk_v16_clamp(qk_v16 x, qk_v16 lo, qk_v16 hi) {
  return _mm512_min_ps(hi, _mm512_max_ps(lo, x));
}
QK_INLINE qk_v16 qk_v16_max(qk_v16 a, qk_v16 b) {
  const __mmask16 first =
      _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) | _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
  return _mm512_mask_blend_ps(first, b, a);
}
/* Keeps gcc from moving an accumulator to memory between steps of a loop. */
#if defined(__clang__)
#define QK_V16_KEEP(v) ((void)0)
#else
#define QK_V16_KEEP(v) __asm__("" : "+v"(v))
#endif
/* x where it is less or more; a NaN or another zero is not. */
QK_INLINE qk_v16 qk_v16_less(qk_v16 x, qk_v16 than) { return _mm512_min_ps(x, than); }
QK_INLINE qk_v16 qk_v16_more(qk_v16 x, qk_v16 than) { return _mm512_max_ps(x, than); }
QK_INLINE float qk_v16_least(qk_v16 x) { return _mm512_reduce_min_ps(x); }
QK_INLINE float qk_v16_most(qk_v16 x) { return _mm512_reduce_max_ps(x); }

#elif QK_VEC16_REGISTERS == 2

typedef struct qk_v16 {
  __m256 a, b;
} qk_v16;

QK_INLINE qk_v16 qk_v16_set(float x) {
  const qk_v16 v = {_mm256_set1_ps(x), _mm256_set1_ps(x)};
  return v;
}
QK_INLINE qk_v16 qk_v16_load(const float* p) {
  const qk_v16 v = {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
  return v;
}
QK_INLINE void qk_v16_store(float* p, qk_v16 v) {
  _mm256_storeu_ps(p, v.a);
  _mm256_storeu_ps(p + 8, v.b);
}
QK_INLINE qk_v16 qk_v16_fma(qk_v16 a, qk_v16 b, qk_v16 c) {
  const qk_v16 v = {_mm256_fmadd_ps(a.a, b.a, c.a), _mm256_fmadd_ps(a.b, b.b, c.b)};
  return v;
}
QK_INLINE __m256 qk_v8_dot_step(__m256 a, __m256 b, __m256 sum) {
#if defined(QN_DOT_MUL_ADD)
  __m256 product = _mm256_mul_ps(a, b);
  __asm__("" : "+x"(product));
  return _mm256_add_ps(product, sum);
#else
  return _mm256_fmadd_ps(a, b, sum);
#endif
}
QK_INLINE qk_v16 qk_v16_dot_step(qk_v16 a, qk_v16 b, qk_v16 sum) {
  const qk_v16 v = {qk_v8_dot_step(a.a, b.a, sum.a), qk_v8_dot_step(a.b, b.b, sum.b)};
  return v;
}
QK_INLINE qk_v16 qk_v16_add(qk_v16 a, qk_v16 b) {
  const qk_v16 v = {_mm256_add_ps(a.a, b.a), _mm256_add_ps(a.b, b.b)};
  return v;
}
QK_INLINE qk_v16 qk_v16_mul(qk_v16 a, qk_v16 b) {
  const qk_v16 v = {_mm256_mul_ps(a.a, b.a), _mm256_mul_ps(a.b, b.b)};
  return v;
}
QK_INLINE qk_v16 qk_v16_within(qk_v16 x, qk_v16 lo, qk_v16 hi) {
  const qk_v16 v = {_mm256_min_ps(_mm256_max_ps(x.a, lo.a), hi.a),
                    _mm256_min_ps(_mm256_max_ps(x.b, lo.b), hi.b)};
  return v;
}
QK_INLINE qk_v16 qk_v16_clamp(qk_v16 x, qk_v16 lo, qk_v16 hi) {
  const qk_v16 v = {_mm256_min_ps(hi.a, _mm256_max_ps(lo.a, x.a)),
                    _mm256_min_ps(hi.b, _mm256_max_ps(lo.b, x.b))};
  return v;
}
QK_INLINE __m256 qk_v8_max(__m256 a, __m256 b) {
  const __m256 first =
      _mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  return _mm256_blendv_ps(b, a, first);
}
QK_INLINE qk_v16 qk_v16_max(qk_v16 a, qk_v16 b) {
  const qk_v16 v = {qk_v8_max(a.a, b.a), qk_v8_max(a.b, b.b)};
  return v;
}
#if defined(__clang__)
#define QK_V16_KEEP(v) ((void)0)
#else
#define QK_V16_KEEP(v) __asm__("" : "+x"((v).a), "+x"((v).b))
#endif
QK_INLINE qk_v16 qk_v16_less(qk_v16 x, qk_v16 than) {
  const qk_v16 v = {_mm256_min_ps(x.a, than.a), _mm256_min_ps(x.b, than.b)};
  return v;
}
QK_INLINE qk_v16 qk_v16_more(qk_v16 x, qk_v16 than) {
  const qk_v16 v = {_mm256_max_ps(x.a, than.a), _mm256_max_ps(x.b, than.b)};
  return v;
}
QK_INLINE float qk_v16_least(qk_v16 x) {
  const __m256 eight = _mm256_min_ps(x.a, x.b);
  __m128 four = _mm_min_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_min_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_min_ss(four, _mm_shuffle_ps(four, four, 1)));
}
QK_INLINE float qk_v16_most(qk_v16 x) {
  const __m256 eight = _mm256_max_ps(x.a, x.b);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
}

#elif QK_VEC16_REGISTERS == 4

typedef struct qk_v16 {
  float32x4_t q[4];
} qk_v16;

QK_INLINE qk_v16 qk_v16_set(float x) {
  const float32x4_t q = vdupq_n_f32(x);
  const qk_v16 v = {{q, q, q, q}};
  return v;
}
QK_INLINE qk_v16 qk_v16_load(const float* p) {
  const qk_v16 v = {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
  return v;
}
QK_INLINE void qk_v16_store(float* p, qk_v16 v) {
  vst1q_f32(p, v.q[0]);
  vst1q_f32(p + 4, v.q[1]);
  vst1q_f32(p + 8, v.q[2]);
  vst1q_f32(p + 12, v.q[3]);
}
QK_INLINE qk_v16 qk_v16_fma(qk_v16 a, qk_v16 b, qk_v16 c) {
  const qk_v16 v = {{vfmaq_f32(c.q[0], a.q[0], b.q[0]), vfmaq_f32(c.q[1], a.q[1], b.q[1]),
                     vfmaq_f32(c.q[2], a.q[2], b.q[2]), vfmaq_f32(c.q[3], a.q[3], b.q[3])}};
  return v;
}
QK_INLINE float32x4_t qk_v4_dot_step(float32x4_t a, float32x4_t b, float32x4_t sum) {
#if defined(QN_DOT_MUL_ADD)
  float32x4_t product = vmulq_f32(a, b);
  __asm__("" : "+w"(product));
  return vaddq_f32(product, sum);
#else
  return vfmaq_f32(sum, a, b);
#endif
}
QK_INLINE qk_v16 qk_v16_dot_step(qk_v16 a, qk_v16 b, qk_v16 sum) {
  const qk_v16 v = {
      {qk_v4_dot_step(a.q[0], b.q[0], sum.q[0]), qk_v4_dot_step(a.q[1], b.q[1], sum.q[1]),
       qk_v4_dot_step(a.q[2], b.q[2], sum.q[2]), qk_v4_dot_step(a.q[3], b.q[3], sum.q[3])}};
  return v;
}
QK_INLINE qk_v16 qk_v16_add(qk_v16 a, qk_v16 b) {
  const qk_v16 v = {{vaddq_f32(a.q[0], b.q[0]), vaddq_f32(a.q[1], b.q[1]),
                     vaddq_f32(a.q[2], b.q[2]), vaddq_f32(a.q[3], b.q[3])}};
  return v;
}
QK_INLINE qk_v16 qk_v16_mul(qk_v16 a, qk_v16 b) {
  const qk_v16 v = {{vmulq_f32(a.q[0], b.q[0]), vmulq_f32(a.q[1], b.q[1]),
                     vmulq_f32(a.q[2], b.q[2]), vmulq_f32(a.q[3], b.q[3])}};
  return v;
}
QK_INLINE float32x4_t qk_v4_within(float32x4_t x, float32x4_t lo, float32x4_t hi) {
  const float32x4_t y = vbslq_f32(vcgtq_f32(x, lo), x, lo);
  return vbslq_f32(vcltq_f32(y, hi), y, hi);
}
QK_INLINE qk_v16 qk_v16_within(qk_v16 x, qk_v16 lo, qk_v16 hi) {
  const qk_v16 v = {{qk_v4_within(x.q[0], lo.q[0], hi.q[0]), qk_v4_within(x.q[1], lo.q[1], hi.q[1]),
                     qk_v4_within(x.q[2], lo.q[2], hi.q[2]),
                     qk_v4_within(x.q[3], lo.q[3], hi.q[3])}};
  return v;
}
QK_INLINE float32x4_t qk_v4_clamp(float32x4_t x, float32x4_t lo, float32x4_t hi) {
  const float32x4_t y = vbslq_f32(vcltq_f32(x, lo), lo, x);
  return vbslq_f32(vcgtq_f32(y, hi), hi, y);
}
QK_INLINE qk_v16 qk_v16_clamp(qk_v16 x, qk_v16 lo, qk_v16 hi) {
  const qk_v16 v = {{qk_v4_clamp(x.q[0], lo.q[0], hi.q[0]), qk_v4_clamp(x.q[1], lo.q[1], hi.q[1]),
                     qk_v4_clamp(x.q[2], lo.q[2], hi.q[2]), qk_v4_clamp(x.q[3], lo.q[3], hi.q[3])}};
  return v;
}
QK_INLINE float32x4_t qk_v4_max(float32x4_t a, float32x4_t b) {
  return vbslq_f32(vorrq_u32(vcgtq_f32(a, b), vmvnq_u32(vceqq_f32(a, a))), a, b);
}
QK_INLINE qk_v16 qk_v16_max(qk_v16 a, qk_v16 b) {
  const qk_v16 v = {{qk_v4_max(a.q[0], b.q[0]), qk_v4_max(a.q[1], b.q[1]),
                     qk_v4_max(a.q[2], b.q[2]), qk_v4_max(a.q[3], b.q[3])}};
  return v;
}
#define QK_V16_KEEP(v) ((void)0)

#else

typedef struct qk_v16 {
  float f[16];
} qk_v16;

QK_INLINE qk_v16 qk_v16_set(float x) {
  qk_v16 v;
  QK_LANES(j) v.f[j] = x;
  return v;
}
QK_INLINE qk_v16 qk_v16_load(const float* p) {
  qk_v16 v;
  QK_LANES(j) v.f[j] = p[j];
  return v;
}
QK_INLINE void qk_v16_store(float* p, qk_v16 v) { QK_LANES(j) p[j] = v.f[j]; }
QK_INLINE qk_v16 qk_v16_fma(qk_v16 a, qk_v16 b, qk_v16 c) {
  QK_LANES(j) c.f[j] = qn_fmaf(a.f[j], b.f[j], c.f[j]);
  return c;
}
QK_INLINE qk_v16 qk_v16_add(qk_v16 a, qk_v16 b) {
  QK_LANES(j) a.f[j] += b.f[j];
  return a;
}
QK_INLINE qk_v16 qk_v16_mul(qk_v16 a, qk_v16 b) {
  for (int j = 0; j < 16; ++j) a.f[j] *= b.f[j];
  return a;
}
QK_INLINE qk_v16 qk_v16_within(qk_v16 x, qk_v16 lo, qk_v16 hi) {
  for (int j = 0; j < 16; ++j) x.f[j] = x.f[j] > lo.f[j] ? x.f[j] : lo.f[j];
  for (int j = 0; j < 16; ++j) x.f[j] = x.f[j] < hi.f[j] ? x.f[j] : hi.f[j];
  return x;
}
QK_INLINE qk_v16 qk_v16_clamp(qk_v16 x, qk_v16 lo, qk_v16 hi) {
  QK_LANES(j) x.f[j] = qn_clamp_f32(x.f[j], lo.f[j], hi.f[j]);
  return x;
}
QK_INLINE qk_v16 qk_v16_max(qk_v16 a, qk_v16 b) {
  QK_LANES(j) a.f[j] = qn_max_f32(a.f[j], b.f[j]);
  return a;
}
#define QK_V16_KEEP(v) ((void)0)

#endif

/* A part whose sums lie on the stack where they fit no registers: then once, not in every copy. */
#if QK_VEC16_REGISTERS
#define QK_SUMS QK_INLINE
#else
#define QK_SUMS QK_SHARED
#endif

/* Every lane divided by d. */
QK_INLINE qk_v16 qk_v16_div(qk_v16 v, float d) {
  float f[16];
  qk_v16_store(f, v);
  for (int j = 0; j < 16; ++j) f[j] /= d;
  return qk_v16_load(f);
}

#if QK_VEC16_REGISTERS != 1
QK_INLINE qk_v16 qk_v16_load_n(const float* p, int32_t n) {
  float f[16] = {0};
  if (n >= 16) return qk_v16_load(p);
  for (int32_t j = 0; j < n; ++j) f[j] = p[j];
  return qk_v16_load(f);
}
QK_INLINE void qk_v16_store_n(float* p, qk_v16 v, int32_t n) {
#if QK_VEC16_REGISTERS
  float f[16];
  if (n >= 16) {
    qk_v16_store(p, v);
    return;
  }
  qk_v16_store(f, v);
  for (int32_t j = 0; j < n; ++j) p[j] = f[j];
#else
  for (int32_t j = 0; j < n; ++j) p[j] = v.f[j];
#endif
}
#endif

/* The sum of all lanes as kernels/numerics/reduce.h folds them: lane j and j + 8, then 4, 2, 1. */
#if QK_VEC16_REGISTERS == 1 || QK_VEC16_REGISTERS == 2
QK_INLINE float qk_v16_fold(qk_v16 v) {
#if QK_VEC16_REGISTERS == 1
  const __m512d lanes = _mm512_castps_pd(v);
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(lanes, 1));
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), high);
#else
  const __m256 eight = _mm256_add_ps(v.a, v.b);
#endif
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}
#elif QK_VEC16_REGISTERS == 4
QK_INLINE float qk_v16_fold(qk_v16 v) {
  const float32x4_t four = vaddq_f32(vaddq_f32(v.q[0], v.q[2]), vaddq_f32(v.q[1], v.q[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
#endif

/* Changes of an accumulator in its place: where 16 lanes are an array, a value passed and returned
 * would be copied on the stack.
 *
 * qk_v16_mac      acc + x * w, a step of dot products (kernels/numerics/dot.h)
 * qk_v16_mac_n    the same of arrays, in the first n lanes
 * qk_v16_add_n    acc + x of an array, in the first n lanes
 * qk_v16_limit    acc clamped to [lo, hi]
 */
#if QK_VEC16_REGISTERS
QK_INLINE void qk_v16_mac(qk_v16* acc, float x, qk_v16 w) {
  *acc = qk_v16_dot_step(qk_v16_set(x), w, *acc);
}
QK_INLINE void qk_v16_mac_n(qk_v16* acc, const float* x, const float* w, int32_t n) {
  *acc = qk_v16_dot_step(qk_v16_load_n(x, n), qk_v16_load_n(w, n), *acc);
}
QK_INLINE void qk_v16_add_n(qk_v16* acc, const float* x, int32_t n) {
  *acc = qk_v16_add(*acc, qk_v16_load_n(x, n));
}
QK_INLINE void qk_v16_limit(qk_v16* acc, float lo, float hi) {
  *acc = qk_v16_clamp(*acc, qk_v16_set(lo), qk_v16_set(hi));
}
#else
QK_INLINE void qk_v16_mac(qk_v16* acc, float x, qk_v16 w) {
#if defined(QN_DOT_MUL_ADD) && defined(__SSE2__) && !defined(__CUDACC__)
  /* Hidden from the compiler all at once, so that both loops are vectors. */
  QK_LANES(j) w.f[j] *= x;
  __asm__("" : "+m"(w));
  QK_LANES(j) acc->f[j] += w.f[j];
#else
  QK_LANES(j) acc->f[j] = qn_dot_step_f32(x, w.f[j], acc->f[j]);
#endif
}
QK_INLINE void qk_v16_mac_n(qk_v16* acc, const float* x, const float* w, int32_t n) {
  for (int32_t j = 0; j < n; ++j) acc->f[j] = qn_dot_step_f32(x[j], w[j], acc->f[j]);
}
QK_INLINE void qk_v16_add_n(qk_v16* acc, const float* x, int32_t n) {
  for (int32_t j = 0; j < n; ++j) acc->f[j] += x[j];
}
QK_INLINE void qk_v16_limit(qk_v16* acc, float lo, float hi) {
  QK_LANES(j) acc->f[j] = qn_clamp_f32(acc->f[j], lo, hi);
}
#endif

#endif
