/* Endings: how kernels that compute floats store them as codes, which nobody then reads as floats.
 * The floats are computed into scratch, a row at a time, and become codes while they are near.
 *
 * A result lies as rows of n floats, side by side. What becomes of them says e_mode:
 *   QK_KNOWN       element i, seen as [..., e_axis, e_inner], has the scale and zero point that
 *                  kernels/quantize/quantize.h says, with the strides e_s_*; scales are reciprocals
 *                  with e_reciprocal. Operands `scales` and `zeros` (may be null: 0).
 *   QK_PER_TOKEN   each e_span elements, of which a row has a whole number, get a scale and a zero
 *                  point from their range; `y_scales` and `y_zeros`.
 *   QK_PER_TENSOR  all elements get one of each. `floats` has room for all of them.
 * With e_keep `floats` has room for all elements too, which stay there.
 * Ranges and codes are those of kernels/numerics/quant.h. Codes have e_size bytes; their sign makes
 * no difference to the bits that are stored. */
#ifndef QK_ENDING_H
#define QK_ENDING_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/common/modes.h"
#include "kernels/common/shared.h"
#include "kernels/numerics/quant.h"

/* The members of parameter structs that say it, and where codes and scales are. */
typedef struct qk_ending {
  int32_t mode, lo, hi, symmetric, reciprocal, size, keep, span;
  int32_t axis, inner, group, s_outer, s_axis, s_inner;
  const float* scales;
  const int32_t* zeros;
  uint8_t* y;
  float* y_scales;
  int32_t* y_zeros;
  float* floats;
  float least, most; /* of the rows so far, for QK_PER_TENSOR */
} qk_ending;

#define QK_ENDING_OF(p)                                                                       \
  {                                                                                           \
    (p)->e_mode, (p)->e_lo, (p)->e_hi, (p)->e_symmetric, (p)->e_reciprocal, (p)->e_size,      \
        (p)->e_keep, (p)->e_span, (p)->e_axis, (p)->e_inner, (p)->e_group, (p)->e_s_outer,    \
        (p)->e_s_axis, (p)->e_s_inner, scales, zeros, (uint8_t*)y, y_scales, y_zeros, floats, \
        0.0f, 0.0f                                                                            \
  }

/* Where row r of n floats is computed. */
QK_INLINE float* qk_ending_row(const qk_ending* e, int32_t r, int32_t n) {
  return e->keep || e->mode == QK_PER_TENSOR ? e->floats + (ptrdiff_t)r * n : e->floats;
}

/* Widens a range by n elements; what is NaN does not count. By 16 lanes: least and most do not
 * depend on the order, for zeros and NaNs never replace what is there. */
QK_SHARED void qk_ending_range(const float* x, int32_t n, float* least, float* most) {
  float low[16], high[16];
  int32_t i = 0;
  for (int j = 0; j < 16; ++j) low[j] = *least;
  for (int j = 0; j < 16; ++j) high[j] = *most;
  for (; i + 16 <= n; i += 16) {
    for (int j = 0; j < 16; ++j) low[j] = x[i + j] < low[j] ? x[i + j] : low[j];
    for (int j = 0; j < 16; ++j) high[j] = x[i + j] > high[j] ? x[i + j] : high[j];
  }
  for (; i < n; ++i) {
    low[0] = x[i] < low[0] ? x[i] : low[0];
    high[0] = x[i] > high[0] ? x[i] : high[0];
  }
  for (int j = 1; j < 16; ++j) low[0] = low[j] < low[0] ? low[j] : low[0];
  for (int j = 1; j < 16; ++j) high[0] = high[j] > high[0] ? high[j] : high[0];
  *least = low[0];
  *most = high[0];
}

QK_INLINE int32_t qk_ending_code(const qk_ending* e, float x, float scale, int32_t zero) {
  return qn_code(e->reciprocal ? qn_mulf(x, scale) : x / scale, zero, e->lo, e->hi);
}
QK_INLINE void qk_ending_store(const qk_ending* e, ptrdiff_t at, int32_t code) {
  if (e->size == 1) {
    e->y[at] = (uint8_t)code;
  } else {
    ((uint16_t*)(void*)e->y)[at] = (uint16_t)code;
  }
}

/* Codes of n elements with one scale, from element `at` of the result on. 32 at a time are found in
 * an array of their own, so that it is done with vectors. */
QK_INLINE void qk_ending_codes(const qk_ending* e, const float* x, int32_t n, float scale,
                               int32_t zero, ptrdiff_t at) {
  int32_t i = 0;
  if (e->size == 1) {
    for (; i + 32 <= n; i += 32) {
      uint8_t codes[32];
      for (int j = 0; j < 32; ++j) codes[j] = (uint8_t)qk_ending_code(e, x[i + j], scale, zero);
      memcpy(e->y + at + i, codes, sizeof codes);
    }
  } else {
    for (; i + 32 <= n; i += 32) {
      uint16_t codes[32];
      for (int j = 0; j < 32; ++j) codes[j] = (uint16_t)qk_ending_code(e, x[i + j], scale, zero);
      memcpy(e->y + 2 * (at + i), codes, sizeof codes);
    }
  }
  for (; i < n; ++i) qk_ending_store(e, at + i, qk_ending_code(e, x[i], scale, zero));
}

/* The same with a scale per element of the row. */
QK_INLINE void qk_ending_channels(const qk_ending* e, const float* x, int32_t n, ptrdiff_t at) {
  const float* s = e->scales;
  const int32_t* z = e->zeros;
  int32_t i = 0;
  for (; i + 32 <= n && e->size == 1; i += 32) {
    uint8_t codes[32];
    for (int j = 0; j < 32; ++j)
      codes[j] = (uint8_t)qk_ending_code(e, x[i + j], s[i + j], z ? z[i + j] : 0);
    memcpy(e->y + at + i, codes, sizeof codes);
  }
  for (; i < n; ++i) qk_ending_store(e, at + i, qk_ending_code(e, x[i], s[i], z ? z[i] : 0));
}

QK_INLINE void qk_ending_known(const qk_ending* e, const float* x, int32_t n, ptrdiff_t at) {
  const int32_t* z = e->zeros;
  if (e->s_outer == 0 && e->s_axis == 0 && e->s_inner == 0) {
    qk_ending_codes(e, x, n, e->scales[0], z ? z[0] : 0, at);
    return;
  }
  if (e->axis == n && e->inner == 1 && e->group == 1 && e->s_outer == 0 && e->s_axis == 1) {
    qk_ending_channels(e, x, n, at);
    return;
  }
  ptrdiff_t inner = at % e->inner, axis = at / e->inner % e->axis, outer = at / e->inner / e->axis;
  for (int32_t i = 0; i < n; ++i) {
    const ptrdiff_t s = outer * e->s_outer + axis / e->group * e->s_axis + inner * e->s_inner;
    qk_ending_store(e, at + i, qk_ending_code(e, x[i], e->scales[s], z ? z[s] : 0));
    if (++inner < e->inner) continue;
    inner = 0;
    if (++axis < e->axis) continue;
    axis = 0;
    ++outer;
  }
}

/* Row r, once it is computed. */
QK_INLINE void qk_ending_finish_row(qk_ending* e, const float* row, int32_t r, int32_t n) {
  const ptrdiff_t at = (ptrdiff_t)r * n;
  if (e->mode == QK_KNOWN) {
    qk_ending_known(e, row, n, at);
  } else if (e->mode == QK_PER_TENSOR) {
    qk_ending_range(row, n, &e->least, &e->most);
  } else {
    for (int32_t t = 0; t < n; t += e->span) {
      const ptrdiff_t token = (at + t) / e->span;
      float least = 0.0f, most = 0.0f;
      qk_ending_range(row + t, e->span, &least, &most);
      qn_range_scale(least, most, e->lo, e->hi, e->symmetric, &e->y_scales[token],
                     &e->y_zeros[token]);
      qk_ending_codes(e, row + t, e->span, e->y_scales[token], e->y_zeros[token], at + t);
    }
  }
}

/* After the last of `rows` rows. */
QK_INLINE void qk_ending_finish(const qk_ending* e, int32_t rows, int32_t n) {
  if (e->mode != QK_PER_TENSOR || rows == 0 || n == 0) return;
  qn_range_scale(e->least, e->most, e->lo, e->hi, e->symmetric, e->y_scales, e->y_zeros);
  for (int32_t r = 0; r < rows; ++r) {
    const ptrdiff_t at = (ptrdiff_t)r * n;
    qk_ending_codes(e, e->floats + at, n, e->y_scales[0], e->y_zeros[0], at);
  }
}

#endif
