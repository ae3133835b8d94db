/* Quantizing epilogues: kernels that compute floats store codes. The floats go to scratch, batch
 * rows at a time, and are quantized while they are in cache.
 *
 * A result is contiguous rows of n floats. qk_quantize_out says how they are quantized; its mode is
 * one of: QK_STATIC       element i, seen as [..., axis, inner], has the scale and zero point that
 *                  kernels/quantize/quantize.h says, with the strides s_*; scales are reciprocals
 *                  with reciprocal. Operands `scales` and `zeros` (may be null: 0).
 *   QK_PER_TOKEN   each span elements, of which a row has a whole number, get a scale and a zero
 *                  point from their range; `y_scales` and `y_zeros`.
 *   QK_PER_TENSOR  all elements get one of each. `floats` has room for all of them.
 * With keep `floats` has room for all elements too, which stay there.
 * Ranges and codes are those of kernels/numerics/quant.h. Codes have size bytes; their sign makes
 * no difference to the bits that are stored. */
#ifndef QK_QUANTIZE_EPILOGUE_H
#define QK_QUANTIZE_EPILOGUE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/common/shared.h"
#include "kernels/common/vec16.h"
#include "kernels/epilogue/epilogue.h"
#include "kernels/numerics/quant.h"

/* The member of parameter structs that says it, and where codes and scales are. */
typedef struct qk_quantize_epilogue {
  qk_quantize_out to;
  const float* scales;
  const int32_t* zeros;
  uint8_t* y;
  float* y_scales;
  int32_t* y_zeros;
  float* floats;
} qk_quantize_epilogue;

/* It is never handed to a function that is not inlined, so that its members stay constants. */
#define QK_EPILOGUE_OF(p) \
  { (p)->quantize, scales, zeros, (uint8_t*)y, y_scales, y_zeros, floats }

/* The least and the most of elements so far. */
typedef struct qk_range {
  float least, most;
} qk_range;

/* Where row r of n floats is computed. */
QK_INLINE float* qk_epilogue_row(const qk_quantize_epilogue* e, int32_t r, int32_t n) {
  const int32_t at = e->to.keep || e->to.mode == QK_PER_TENSOR ? r : r % e->to.batch;
  return e->floats + (ptrdiff_t)at * n;
}

/* Widens a range by n elements; what is NaN does not count. By 16 lanes, or by three times as many:
 * least and most do not depend on the order, for zeros and NaNs never replace what is there. */
QK_SHARED void qk_epilogue_range(const float* x, int32_t n, qk_range* range) {
  float least = range->least, most = range->most;
  int32_t i = 0;
#if QK_VEC16_REGISTERS == 1 || QK_VEC16_REGISTERS == 2
  qk_v16 l0 = qk_v16_set(least), l1 = l0, l2 = l0, h0 = qk_v16_set(most), h1 = h0, h2 = h0;
  for (; i + 48 <= n; i += 48) {
    const qk_v16 a = qk_v16_load(x + i), b = qk_v16_load(x + i + 16), c = qk_v16_load(x + i + 32);
    l0 = qk_v16_less(a, l0), l1 = qk_v16_less(b, l1), l2 = qk_v16_less(c, l2);
    h0 = qk_v16_more(a, h0), h1 = qk_v16_more(b, h1), h2 = qk_v16_more(c, h2);
  }
  for (; i + 16 <= n; i += 16) {
    l0 = qk_v16_less(qk_v16_load(x + i), l0);
    h0 = qk_v16_more(qk_v16_load(x + i), h0);
  }
  least = qk_v16_least(qk_v16_less(l0, qk_v16_less(l1, l2)));
  most = qk_v16_most(qk_v16_more(h0, qk_v16_more(h1, h2)));
#else
  float low[16], high[16];
  for (int j = 0; j < 16; ++j) low[j] = least;
  for (int j = 0; j < 16; ++j) high[j] = most;
  for (; i + 16 <= n; i += 16) {
    for (int j = 0; j < 16; ++j) low[j] = x[i + j] < low[j] ? x[i + j] : low[j];
    for (int j = 0; j < 16; ++j) high[j] = x[i + j] > high[j] ? x[i + j] : high[j];
  }
  for (int j = 0; j < 16; ++j) least = low[j] < least ? low[j] : least;
  for (int j = 0; j < 16; ++j) most = high[j] > most ? high[j] : most;
#endif
  for (; i < n; ++i) {
    least = x[i] < least ? x[i] : least;
    most = x[i] > most ? x[i] : most;
  }
  range->least = least;
  range->most = most;
}

QK_INLINE int32_t qk_epilogue_code(const qk_quantize_epilogue* e, float x, float scale,
                                   int32_t zero) {
  return qn_code(e->to.reciprocal ? qn_mulf(x, scale) : x / scale, zero, e->to.lo, e->to.hi);
}
QK_INLINE void qk_epilogue_store(const qk_quantize_epilogue* e, ptrdiff_t at, int32_t code) {
  if (e->to.size == 1) {
    e->y[at] = (uint8_t)code;
  } else {
    ((uint16_t*)(void*)e->y)[at] = (uint16_t)code;
  }
}

/* 32 codes of a byte, in an array of their own, so that they are found with vectors. */
QK_INLINE void qk_epilogue_bytes(const qk_quantize_epilogue* e, const float* x, float scale,
                                 int32_t zero, uint8_t* y) {
  uint8_t codes[32];
  for (int j = 0; j < 32; ++j) codes[j] = (uint8_t)qk_epilogue_code(e, x[j], scale, zero);
  memcpy(y, codes, sizeof codes);
}

#if QK_VEC16_REGISTERS == 1
/* 16 codes of a byte without divisions. x * (1 / scale) is within 2^-22 of x / scale, relatively,
 * so of codes less their zero point, at most 255, within QK_EPILOGUE_OFF: both round to the same
 * code unless a tie is as near. Of such products v this returns how far they are from their codes:
 * where that is as much as 0.5 less what they may be off, they are to be divided. Adding
 * 2^23 + 2^22 rounds to an integer, which is left in the low bits. */
#define QK_EPILOGUE_OFF 0x1p-14f
QK_INLINE __m512 qk_epilogue_16_bytes(const qk_quantize_epilogue* e, __m512 v, int32_t zero,
                                      uint8_t* y) {
  const __m512 least = _mm512_set1_ps((float)(e->to.lo - zero));
  const __m512 most = _mm512_set1_ps((float)(e->to.hi - zero));
  const __m512 magic = _mm512_set1_ps(0x1.8p23f + (float)zero);
  const __m512 within = _mm512_min_ps(_mm512_max_ps(v, least), most);
  const __m512 rounded = _mm512_add_ps(within, magic);
  _mm_storeu_si128((__m128i*)(void*)y, _mm512_cvtepi32_epi8(_mm512_castps_si512(rounded)));
  return _mm512_abs_ps(_mm512_sub_ps(within, _mm512_sub_ps(rounded, magic)));
}
#endif

/* As many codes of a byte as can be found together; how many that is. */
QK_INLINE int32_t qk_epilogue_all_bytes(const qk_quantize_epilogue* e, const float* x, int32_t n,
                                        float scale, int32_t zero, uint8_t* y) {
  int32_t i = 0;
#if QK_VEC16_REGISTERS == 1
  if (!e->to.reciprocal && scale > 0x1p-100f && scale < 0x1p100f) {
    const __m512 inverse = _mm512_set1_ps(1.0f / scale);
    const __m512 limit = _mm512_set1_ps(0.5f - QK_EPILOGUE_OFF);
    for (; i + 16 <= n; i += 16) {
      const __m512 v = _mm512_mul_ps(_mm512_loadu_ps(x + i), inverse);
      const __m512 far = qk_epilogue_16_bytes(e, v, zero, y + i);
      if (_mm512_cmp_ps_mask(far, limit, _CMP_NLT_UQ) == 0) continue;
      for (int32_t j = i; j < i + 16; ++j) y[j] = (uint8_t)qk_epilogue_code(e, x[j], scale, zero);
    }
  }
#endif
  for (; i + 32 <= n; i += 32) qk_epilogue_bytes(e, x + i, scale, zero, y + i);
  return i;
}

/* Codes of n elements with one scale, from element `at` of the result on. */
QK_INLINE void qk_epilogue_codes(const qk_quantize_epilogue* e, const float* x, int32_t n,
                                 float scale, int32_t zero, ptrdiff_t at) {
  int32_t i = 0;
  if (e->to.size == 1) {
    i = qk_epilogue_all_bytes(e, x, n, scale, zero, e->y + at);
  } else {
    for (; i + 32 <= n; i += 32) {
      uint16_t codes[32];
      for (int j = 0; j < 32; ++j) codes[j] = (uint16_t)qk_epilogue_code(e, x[i + j], scale, zero);
      memcpy(e->y + 2 * (at + i), codes, sizeof codes);
    }
  }
  for (; i < n; ++i) qk_epilogue_store(e, at + i, qk_epilogue_code(e, x[i], scale, zero));
}

/* The same with a scale per element of the row. */
QK_INLINE void qk_epilogue_channels(const qk_quantize_epilogue* e, const float* x, int32_t n,
                                    ptrdiff_t at) {
  const float* s = e->scales;
  const int32_t* z = e->zeros;
  int32_t i = 0;
  for (; i + 32 <= n && e->to.size == 1; i += 32) {
    uint8_t codes[32];
    for (int j = 0; j < 32; ++j)
      codes[j] = (uint8_t)qk_epilogue_code(e, x[i + j], s[i + j], z ? z[i + j] : 0);
    memcpy(e->y + at + i, codes, sizeof codes);
  }
  for (; i < n; ++i) qk_epilogue_store(e, at + i, qk_epilogue_code(e, x[i], s[i], z ? z[i] : 0));
}

QK_INLINE void qk_epilogue_known(const qk_quantize_epilogue* e, const float* x, int32_t n,
                                 ptrdiff_t at) {
  const int32_t* z = e->zeros;
  if (e->to.s_outer == 0 && e->to.s_axis == 0 && e->to.s_inner == 0) {
    qk_epilogue_codes(e, x, n, e->scales[0], z ? z[0] : 0, at);
    return;
  }
  if (e->to.axis == n && e->to.inner == 1 && e->to.group == 1 && e->to.s_outer == 0 &&
      e->to.s_axis == 1) {
    qk_epilogue_channels(e, x, n, at);
    return;
  }
  ptrdiff_t inner = at % e->to.inner, axis = at / e->to.inner % e->to.axis,
            outer = at / e->to.inner / e->to.axis;
  for (int32_t i = 0; i < n; ++i) {
    const ptrdiff_t s =
        outer * e->to.s_outer + axis / e->to.group * e->to.s_axis + inner * e->to.s_inner;
    qk_epilogue_store(e, at + i, qk_epilogue_code(e, x[i], e->scales[s], z ? z[s] : 0));
    if (++inner < e->to.inner) continue;
    inner = 0;
    if (++axis < e->to.axis) continue;
    axis = 0;
    ++outer;
  }
}

QK_INLINE void qk_epilogue_encode_row(const qk_quantize_epilogue* e, const float* row, int32_t r,
                                      int32_t n, qk_range* all) {
  const ptrdiff_t at = (ptrdiff_t)r * n;
  if (e->to.mode == QK_STATIC) {
    qk_epilogue_known(e, row, n, at);
  } else if (e->to.mode == QK_PER_TENSOR) {
    qk_epilogue_range(row, n, all);
  } else {
    for (int32_t t = 0; t < n; t += e->to.span) {
      const ptrdiff_t token = (at + t) / e->to.span;
      qk_range range = {0.0f, 0.0f};
      float scale;
      int32_t zero;
      qk_epilogue_range(row + t, e->to.span, &range);
      qn_range_scale(range.least, range.most, e->to.lo, e->to.hi, e->to.symmetric, &scale, &zero);
      e->y_scales[token] = scale;
      e->y_zeros[token] = zero;
      qk_epilogue_codes(e, row + t, e->to.span, scale, zero, at + t);
    }
  }
}

/* Row r of `rows`, once it is computed; `all` is the range of the rows so far. Codes are made for
 * batch rows together: a processor does not wait for one short row after the other. */
QK_INLINE void qk_epilogue_finish_row(const qk_quantize_epilogue* e, int32_t r, int32_t rows,
                                      int32_t n, qk_range* all) {
  if ((r + 1) % e->to.batch != 0 && r + 1 < rows) return;
  for (int32_t b = r - r % e->to.batch; b <= r; ++b) {
    qk_epilogue_encode_row(e, qk_epilogue_row(e, b, n), b, n, all);
  }
}

/* After the last of `rows` rows, whose range is `all`. */
QK_INLINE void qk_epilogue_finish(const qk_quantize_epilogue* e, int32_t rows, int32_t n,
                                  const qk_range* all) {
  float scale;
  int32_t zero;
  if (e->to.mode != QK_PER_TENSOR || rows == 0 || n == 0) return;
  qn_range_scale(all->least, all->most, e->to.lo, e->to.hi, e->to.symmetric, &scale, &zero);
  for (int32_t r = 0; r < rows; ++r) {
    const ptrdiff_t at = (ptrdiff_t)r * n;
    qk_epilogue_codes(e, e->floats + at, n, scale, zero, at);
  }
  e->y_scales[0] = scale;
  e->y_zeros[0] = zero;
}

#endif
