/* Reductions of short rows and pairs of rows in few instructions, with the bits of
 * kernels/numerics/reduce.h: most rows of scores are shorter than a block, so that folding the
 * lanes counts. */
#ifndef QK_QATTENTION_ROWS_H
#define QK_QATTENTION_ROWS_H

#include "kernels/numerics/quant.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/qgemm/sums.h"

#if QK_SUMS_REGISTERS != 0
/* The numbers of a and b in turn: a0 b0 a1 b1 .. */
QK_INLINE void qk_join_words(__m256i a, __m256i b, int16_t* y) {
  const __m256i low = _mm256_unpacklo_epi16(a, b), high = _mm256_unpackhi_epi16(a, b);
  _mm256_storeu_si256((__m256i*)(void*)y, _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256((__m256i*)(void*)(y + 16), _mm256_permute2x128_si256(low, high, 0x31));
}
QK_INLINE __m256i qk_words_of(const uint8_t* x, int32_t is_signed, int32_t zero) {
  const __m128i bytes = _mm_loadu_si128((const __m128i*)(const void*)x);
  return _mm256_sub_epi16(is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes),
                          _mm256_set1_epi16((int16_t)zero));
}
#endif

#if QK_SUMS_REGISTERS == 1

QK_INLINE __mmask16 qk_row_there(int32_t n) {
  return (__mmask16)(n < 16 ? (1u << n) - 1u : 0xffffu);
}
/* The first n of 16 numbers, `fill` for the others. */
QK_INLINE __m512 qk_row_load(const float* x, int32_t n, float fill) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), qk_row_there(n), x);
}
QK_INLINE float qk_row_sum(const float* x, int32_t n) {
  __m512 lanes = _mm512_setzero_ps();
  __m256 eight;
  __m128 four;
  if (n > QN_BLOCK) return qn_sum_f32(x, n, 1);
  for (int32_t i = 0; i < n; i += 16) lanes = _mm512_add_ps(lanes, qk_row_load(x + i, n - i, 0.0f));
  eight = _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
  four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}
/* NaN where there is one; of zeros either. */
QK_INLINE float qk_row_max(const float* x, int32_t n) {
  __m512 lanes = _mm512_set1_ps(-QN_INF_F32);
  __mmask16 nan = 0;
  for (int32_t i = 0; i < n; i += 16) {
    const __m512 v = qk_row_load(x + i, n - i, -QN_INF_F32);
    nan |= _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    lanes = _mm512_max_ps(lanes, v);
  }
  return nan ? QN_INF_F32 - QN_INF_F32 : _mm512_reduce_max_ps(lanes);
}

/* qn_exp_f32 where it is at most 1, in half as many instructions: NaN stays, and the power of two
 * is multiplied in with one rounding, as there. */
QK_INLINE __m512 qk_row_exp_16(__m512 x) {
  const __m512 magic = _mm512_set1_ps(0x1.8p23f), one = _mm512_set1_ps(1.0f);
  const __m512 c = _mm512_max_ps(_mm512_set1_ps(-104.0f), x);
  const __m512 k = _mm512_sub_ps(_mm512_fmadd_ps(c, _mm512_set1_ps(0x1.715476p+0f), magic), magic);
  const __m512 near = _mm512_fmadd_ps(k, _mm512_set1_ps(-0x1.62e4p-1f), c);
  const __m512 r = _mm512_fmadd_ps(k, _mm512_set1_ps(-0x1.7f7d1cp-20f), near);
  __m512 q = _mm512_set1_ps(0x1.a124e4p-13f);
  q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(0x1.6d4316p-10f));
  q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(0x1.1110e0p-7f));
  q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(0x1.5554eap-5f));
  q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(0x1.555556p-3f));
  q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(0.5f));
  return _mm512_scalef_ps(_mm512_add_ps(one, _mm512_fmadd_ps(_mm512_mul_ps(q, r), r, r)), k);
}
/* exp(x - most), most being the greatest of them. */
QK_INLINE void qk_row_exp(float* x, int32_t n, float most) {
  const __m512 by = _mm512_set1_ps(most);
  for (int32_t i = 0; i < n; i += 16) {
    const __mmask16 there = qk_row_there(n - i);
    const __m512 v = _mm512_sub_ps(_mm512_maskz_loadu_ps(there, x + i), by);
    _mm512_mask_storeu_ps(x + i, there, qk_row_exp_16(v));
  }
}
QK_INLINE void qk_row_multiply(float* x, const float* by, int32_t n) {
  for (int32_t i = 0; i < n; i += 16) {
    const __mmask16 there = qk_row_there(n - i);
    _mm512_mask_storeu_ps(
        x + i, there,
        _mm512_mul_ps(_mm512_maskz_loadu_ps(there, x + i), _mm512_maskz_loadu_ps(there, by + i)));
  }
}
/* Codes from 0 to 255 of x * steps. */
QK_INLINE void qk_row_codes(const float* x, int32_t n, float steps, int16_t* y) {
  const __m512 by = _mm512_set1_ps(steps), most = _mm512_set1_ps(255.0f);
  for (int32_t i = 0; i < n; i += 16) {
    const __mmask16 there = qk_row_there(n - i);
    const __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(there, x + i), by);
    const __m512 within = _mm512_min_ps(_mm512_max_ps(v, _mm512_setzero_ps()), most);
    _mm256_mask_storeu_epi16(y + i, there, _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(within)));
  }
}

#else

QK_INLINE float qk_row_sum(const float* x, int32_t n) { return qn_sum_f32(x, n, 1); }
QK_INLINE float qk_row_max(const float* x, int32_t n) { return qn_row_max_f32(x, n, 1); }
QK_INLINE void qk_row_exp(float* x, int32_t n, float most) {
  for (int32_t i = 0; i < n; ++i) x[i] = qn_exp_f32(x[i] - most);
}
QK_INLINE void qk_row_multiply(float* x, const float* by, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = qn_mulf(x[i], by[i]);
}
QK_INLINE void qk_row_codes(const float* x, int32_t n, float steps, int16_t* y) {
  for (int32_t i = 0; i < n; ++i) y[i] = (int16_t)qn_code(qn_mulf(x[i], steps), 0, 0, 255);
}

#endif

#endif
