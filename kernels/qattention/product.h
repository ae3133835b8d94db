/* Products of rows of codes with panels of 16 columns, a unit of some codes at a time. Of 16-bit
 * numbers panels lie as [columns / 16][pairs of k][16][2], what fills them up is 0; of bytes see
 * kernels/qattention/bytes.h. Accumulators are exact modulo 2^32. */
#ifndef QK_QATTENTION_PRODUCT_H
#define QK_QATTENTION_PRODUCT_H

#include "kernels/common/accumulators.h"
#include "kernels/common/body.h"

/* y[i][j] = f32(sum of x[i] and column j) * (by[i] * columns[j]); columns may be null: by[i] alone.
 * Of bytes a sum begins with start[i] and, where they are there, the product of the pairs x_more[i]
 * and w_more[j]. */
typedef struct qk_codes_product {
  int32_t units;
  ptrdiff_t x_row, panel, y_row; /* from row to row and from panel to panel, elements */
  const float *by, *columns;
  const int32_t* start;
  const int16_t *x_more, *w_more;
} qk_codes_product;

#if QK_ACC_REGISTERS == 1
QK_INLINE qk_pairs qk_panel_load(const void* p) { return _mm512_loadu_si512(p); }
#elif QK_ACC_REGISTERS == 2
QK_INLINE qk_pairs qk_panel_load(const void* p) {
  const qk_pairs v = {_mm256_loadu_si256((const __m256i*)p),
                      _mm256_loadu_si256((const __m256i*)p + 1)};
  return v;
}
#endif

#if QK_ACC_REGISTERS != 0
QK_INLINE qk_acc qk_pairs_start(const qk_codes_product* t, int32_t row, int32_t p) {
  (void)t, (void)row, (void)p;
  return qk_acc_set(0);
}
#define QK_WITH qk_pairs_tile_1x1, 1, 1, int16_t, int16_t, 2, qk_acc_dot, qk_pairs_start
#include "kernels/qattention/tile.inc"
#if QK_ACC_REGISTERS == 1
#define QK_WITH qk_pairs_tile_1x2, 1, 2, int16_t, int16_t, 2, qk_acc_dot, qk_pairs_start
#include "kernels/qattention/tile.inc"
#define QK_WITH qk_pairs_tile_8x2, 8, 2, int16_t, int16_t, 2, qk_acc_dot, qk_pairs_start
#include "kernels/qattention/tile.inc"
#define QK_WITH qk_pairs_tile_8x1, 8, 1, int16_t, int16_t, 2, qk_acc_dot, qk_pairs_start
#include "kernels/qattention/tile.inc"
#else
#define QK_WITH qk_pairs_tile_4x1, 4, 1, int16_t, int16_t, 2, qk_acc_dot, qk_pairs_start
#include "kernels/qattention/tile.inc"
#endif

#else

/* One row by one panel; a function of its own, for its accumulators fit registers. */
QK_SHARED void qk_pairs_row(const qk_codes_product* t, const int16_t* x, const int16_t* w, float by,
                            const float* columns, float* y) {
  uint32_t s[16] = {0};
  for (int32_t i = 0; i < t->units; ++i, x += 2, w += 32) {
    const int32_t a = x[0], b = x[1];
    for (int j = 0; j < 16; ++j) s[j] += (uint32_t)(a * w[2 * j] + b * w[2 * j + 1]);
  }
  if (columns) {
    for (int j = 0; j < 16; ++j) y[j] = (float)(int32_t)s[j] * (by * columns[j]);
  } else {
    for (int j = 0; j < 16; ++j) y[j] = (float)(int32_t)s[j] * by;
  }
}

#endif

/* `rows` rows by panels [first, last). */
QK_INLINE void qk_pairs_multiply(const qk_codes_product* t, const int16_t* x, const int16_t* panels,
                                 float* y, int32_t rows, int32_t first, int32_t last) {
  for (int32_t p = first; p < last;) {
    const int16_t* w = panels + p * t->panel;
#if QK_ACC_REGISTERS == 0
    for (int32_t m = 0; m < rows; ++m) {
      qk_pairs_row(t, x + m * t->x_row, w, t->by[m], t->columns ? t->columns + 16 * p : 0,
                   y + m * t->y_row + 16 * p);
    }
    ++p;
#else
    int32_t m = 0;
#if QK_ACC_REGISTERS == 1
    if (p + 2 <= last) {
      for (; m + 8 <= rows; m += 8) qk_pairs_tile_8x2(t, m, x, w, p, y);
      for (; m < rows; ++m) qk_pairs_tile_1x2(t, m, x, w, p, y);
      p += 2;
      continue;
    }
    for (; m + 8 <= rows; m += 8) qk_pairs_tile_8x1(t, m, x, w, p, y);
#else
    for (; m + 4 <= rows; m += 4) qk_pairs_tile_4x1(t, m, x, w, p, y);
#endif
    for (; m < rows; ++m) qk_pairs_tile_1x1(t, m, x, w, p, y);
    ++p;
#endif
  }
}

#endif
