/* Reductions of short rows and pairs of rows in few instructions, with the bits of
 * kernels/numerics/reduce.h: most rows of scores are shorter than a block, so that folding the
 * lanes counts. */
#ifndef QK_QATTENTION_ROWS_H
#define QK_QATTENTION_ROWS_H

#include "kernels/numerics/reduce.h"
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

/* The first n of 16 numbers, `fill` for the others. */
QK_INLINE __m512 qk_row_load(const float* x, int32_t n, float fill) {
  const __mmask16 there = (__mmask16)(n < 16 ? (1u << n) - 1u : 0xffffu);
  return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), there, x);
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

#else

QK_INLINE float qk_row_sum(const float* x, int32_t n) { return qn_sum_f32(x, n, 1); }
QK_INLINE float qk_row_max(const float* x, int32_t n) { return qn_row_max_f32(x, n, 1); }

#endif

#endif
