/* Numbers [first, end) of a row of scores in few instructions, with the bits of
 * kernels/numerics/reduce.h: most rows of scores are shorter than a block, so that folding the
 * lanes counts. A row has room for whole vectors of 16, of which all lanes may be written: those
 * beside the numbers with zeros, where nobody says otherwise. */
#ifndef QK_QATTENTION_ROWS_H
#define QK_QATTENTION_ROWS_H

#include "kernels/common/accumulators.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"

/* Rows of codes and their zero points: how far they are apart, 0 where there is one zero point. */
typedef struct qk_code_rows {
  int32_t type, zero;
  ptrdiff_t row, zero_row;
  const int32_t* zeros;
} qk_code_rows;
QK_INLINE int32_t qk_row_zero(const qk_code_rows* z, ptrdiff_t row) {
  return z->zeros ? z->zeros[row * z->zero_row] : z->zero;
}

#if QK_ACC_REGISTERS != 0
/* The numbers of a and b one after another: a0 b0 a1 b1 .. */
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

#if QK_ACC_REGISTERS == 1

QK_INLINE __mmask16 qk_row_there(int32_t n) {
  return (__mmask16)(n < 16 ? (1u << n) - 1u : 0xffffu);
}
/* Of the lanes of numbers [at, at + 16) those of [first, end). */
QK_INLINE __mmask16 qk_row_lanes(int32_t at, int32_t first, int32_t end) {
  const uint32_t before = at < first ? (1u << (first - at)) - 1u : 0;
  return (__mmask16)(qk_row_there(end - at) & ~before);
}
/* NaN where there is one; of zeros either. */
QK_INLINE float qk_row_max(const float* x, int32_t first, int32_t end) {
  const __m512 none = _mm512_set1_ps(-QN_INF_F32);
  __m512 lanes = none;
  __mmask16 nan = 0;
  for (int32_t i = first / 16 * 16; i < end; i += 16) {
    const __m512 v = _mm512_mask_loadu_ps(none, qk_row_lanes(i, first, end), x + i);
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
/* exp(x - most) of numbers [first, end), most being the greatest of them; the sum of these, before
 * which there are zeros. */
QK_INLINE float qk_row_exp(float* x, int32_t first, int32_t end, float most) {
  const __m512 by = _mm512_set1_ps(most);
  __m512 lanes = _mm512_setzero_ps();
  for (int32_t i = first / 16 * 16; i < end; i += 16) {
    const __mmask16 there = qk_row_lanes(i, first, end);
    const __m512 v = _mm512_sub_ps(_mm512_maskz_loadu_ps(there, x + i), by);
    const __m512 e = _mm512_maskz_mov_ps(there, qk_row_exp_16(v));
    _mm512_storeu_ps(x + i, e);
    lanes = _mm512_add_ps(lanes, e);
  }
  if (end <= QN_BLOCK) return qk_v16_fold(lanes);
  memset(x, 0, (size_t)(first / 16 * 16) * sizeof *x);
  return qn_sum_f32(x, end, 1);
}
/* The same with codes of all of them at 255 steps in place of the numbers. end <= QN_BLOCK. */
QK_INLINE float qk_row_exp_codes(const float* x, int32_t first, int32_t end, float most,
                                 uint8_t* codes) {
  const __m512 by = _mm512_set1_ps(most), steps = _mm512_set1_ps(255.0f);
  __m512 lanes = _mm512_setzero_ps();
  for (int32_t i = first / 16 * 16; i < end; i += 16) {
    const __mmask16 there = qk_row_lanes(i, first, end);
    const __m512 v = _mm512_sub_ps(_mm512_maskz_loadu_ps(there, x + i), by);
    const __m512 e = _mm512_maskz_mov_ps(there, qk_row_exp_16(v));
    /* From 0 to 255, or what converts NaN to 2^31, whose low byte is 0. */
    const __m512i code = _mm512_cvtps_epi32(_mm512_mul_ps(e, steps));
    _mm_storeu_si128((__m128i*)(void*)(codes + i), _mm512_cvtepi32_epi8(code));
    lanes = _mm512_add_ps(lanes, e);
  }
  return qk_v16_fold(lanes);
}
QK_INLINE void qk_row_multiply(float* x, const float* by, int32_t first, int32_t end) {
  for (int32_t i = first / 16 * 16; i < end; i += 16) {
    _mm512_storeu_ps(x + i, _mm512_mul_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(by + i)));
  }
}
/* Codes from 0 to 255 of x * steps, of `size` bytes. */
QK_INLINE void qk_row_codes(const float* x, int32_t first, int32_t end, float steps, void* y,
                            int32_t size) {
  const __m512 by = _mm512_set1_ps(steps), most = _mm512_set1_ps(255.0f);
  for (int32_t i = first / 16 * 16; i < end; i += 16) {
    const __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(qk_row_lanes(i, first, end), x + i), by);
    const __m512 within = _mm512_min_ps(_mm512_max_ps(v, _mm512_setzero_ps()), most);
    const __m512i codes = _mm512_cvtps_epi32(within);
    if (size == 1) {
      _mm_storeu_si128((__m128i*)(void*)((uint8_t*)y + i), _mm512_cvtepi32_epi8(codes));
    } else {
      _mm256_storeu_si256((__m256i*)(void*)((int16_t*)y + i), _mm512_cvtepi32_epi16(codes));
    }
  }
}

#else

QK_INLINE float qk_row_max(const float* x, int32_t first, int32_t end) {
  return qn_row_max_f32(x + first, end - first, 1);
}
QK_INLINE float qk_row_exp(float* x, int32_t first, int32_t end, float most) {
  for (int32_t i = 0; i < first; ++i) x[i] = 0.0f;
  for (int32_t i = first; i < end; ++i) x[i] = qn_exp_f32(x[i] - most);
  return qn_sum_f32(x, end, 1);
}
QK_INLINE void qk_row_multiply(float* x, const float* by, int32_t first, int32_t end) {
  for (int32_t i = first; i < end; ++i) x[i] = qn_mulf(x[i], by[i]);
}
/* Codes of 16 bits: `size` is 2 where no body is for bytes (kernels/qattention/bytes.h). */
QK_INLINE void qk_row_codes(const float* x, int32_t first, int32_t end, float steps, void* y,
                            int32_t size) {
  int16_t* codes = (int16_t*)y;
  (void)size;
  for (int32_t i = first; i < end; ++i) {
    codes[i] = (int16_t)qn_code(qn_mulf(x[i], steps), 0, 0, 255);
  }
}

#endif

#endif
