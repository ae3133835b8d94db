/* Rows that lie side by side, four at a time: the sum of a row is one addition after the other, and
 * four do not wait for each other. A row has few different codes, so that results are computed once
 * for each of them and then looked up. */
#ifndef QK_QSOFTMAX_ROWS_H
#define QK_QSOFTMAX_ROWS_H
#include <stddef.h>
#include <string.h>

#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/qsoftmax/qsoftmax.h"
#include "kernels/quantize/lookup.h"

/* The least and the greatest of n bytes, n >= 32, their first bits flipped by `flip`. */
typedef struct qk_byte_range {
  int32_t least, most;
} qk_byte_range;
QK_INLINE qk_byte_range qk_bytes_range(const uint8_t* x, int32_t n, uint8_t flip) {
  uint8_t low[32], high[32];
  qk_byte_range range;
  for (int j = 0; j < 32; ++j) low[j] = high[j] = x[j] ^ flip;
  for (int32_t i = 32; i < n; i += 32) {
    const uint8_t* from = x + (i + 32 <= n ? i : n - 32);
    for (int j = 0; j < 32; ++j) low[j] = (from[j] ^ flip) < low[j] ? from[j] ^ flip : low[j];
    for (int j = 0; j < 32; ++j) high[j] = (from[j] ^ flip) > high[j] ? from[j] ^ flip : high[j];
  }
  for (int half = 16; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) low[j] = low[j + half] < low[j] ? low[j + half] : low[j];
    for (int j = 0; j < half; ++j) high[j] = high[j + half] > high[j] ? high[j + half] : high[j];
  }
  range.least = low[0];
  range.most = high[0];
  return range;
}

/* The codes of a row: that of byte b, flipped, is computed at 255 - most + b. */
QK_INLINE void qk_qsoftmax_row(const qk_qsoftmax_params* p, const uint8_t* x, const float* table,
                               uint8_t flip, qk_byte_range range, float sum, uint8_t* y) {
  const int32_t shift = 255 - range.most;
  const uint8_t by = (uint8_t)(shift + flip);
  uint8_t codes[256] = {0};
  int32_t k = 0;
  for (int32_t first = 224; first + 31 >= shift + range.least; first -= 32) {
    uint8_t some[32];
    for (int j = 0; j < 32; ++j) {
      some[j] =
          (uint8_t)qn_softmax_code_ort(table[first + j], p->steps, sum, p->zero, p->lo, p->hi);
    }
    memcpy(codes + first, some, sizeof some);
  }
#if QK_ACC_REGISTERS == 1
  const qk_byte_table t = qk_byte_table_load(codes);
  for (; k + 64 <= p->n; k += 64) {
    uint8_t at[64];
    for (int j = 0; j < 64; ++j) at[j] = (uint8_t)(x[k + j] + by);
    qk_byte_table_64(&t, at, y + k);
  }
#endif
  for (; k < p->n; ++k) y[k] = codes[(uint8_t)(x[k] + by)];
}

/* n >= 32 and inner is 1. */
QK_INLINE void qk_qsoftmax_rows(const qk_qsoftmax_params* p, const uint8_t* x, const float* table,
                                uint8_t* y) {
  const uint8_t flip = p->type_x == QK_I8 ? 128 : 0;
  const int32_t n = p->n;
  for (int32_t o = 0; o < p->outer; o += 4) {
    const int32_t rows = p->outer - o < 4 ? p->outer - o : 4;
    const uint8_t* row[4];
    const float* from[4];
    qk_byte_range range[4];
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int r = 0; r < 4; ++r) {
      row[r] = x + (ptrdiff_t)(o + (r < rows ? r : 0)) * n;
      range[r] = qk_bytes_range(row[r], n, flip);
      from[r] = table + 255 - range[r].most;
    }
    for (int32_t k = 0; k < n; ++k) {
      for (int r = 0; r < 4; ++r) sum[r] += from[r][row[r][k] ^ flip];
    }
    for (int r = 0; r < rows; ++r) {
      qk_qsoftmax_row(p, row[r], table, flip, range[r], sum[r], y + (ptrdiff_t)(o + r) * n);
    }
  }
}

#endif
