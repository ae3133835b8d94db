#include <stddef.h>

#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/common/quantize_epilogue.h"
#include "kernels/numerics/quant.h"
#include "kernels/quantize/lookup.h"
#include "kernels/quantize/quantize.h"

#define QK_WITH i8, int8_t
#include "kernels/quantize/body.inc"
#define QK_WITH u8, uint8_t
#include "kernels/quantize/body.inc"
#define QK_WITH i16, int16_t
#include "kernels/quantize/body.inc"
#define QK_WITH u16, uint16_t
#include "kernels/quantize/body.inc"

#define QK_DEFINE_DEQUANTIZE(t, T)                                                                \
  QK_INLINE void qk_dequantize_##t(const qk_quantize_params* p, const T* x, const float* s,       \
                                   const int32_t* z, float* y) {                                  \
    for (int32_t o = 0; o < p->outer; ++o) {                                                      \
      for (int32_t a = 0; a < p->axis; ++a) {                                                     \
        const ptrdiff_t base = (ptrdiff_t)o * p->s_outer + (ptrdiff_t)(a / p->group) * p->s_axis; \
        for (int32_t i = 0; i < p->inner; ++i) {                                                  \
          const ptrdiff_t at = base + (ptrdiff_t)i * p->s_inner;                                  \
          *y++ = qn_dequantize((int32_t)*x++, s[at], z ? z[at] : 0);                              \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }
QK_DEFINE_DEQUANTIZE(i8, int8_t)
QK_DEFINE_DEQUANTIZE(u8, uint8_t)
QK_DEFINE_DEQUANTIZE(i16, int16_t)
QK_DEFINE_DEQUANTIZE(u16, uint16_t)
QK_DEFINE_DEQUANTIZE(i32, int32_t)

/* Elements are converted some at a time along the longer runs, so that it is done with vectors, and
 * the shorter runs are put together from what stands in a tile of QK_TRANSPOSE_SHORT by
 * QK_TRANSPOSE_LONG. */
#define QK_TRANSPOSE_SHORT 8
#define QK_TRANSPOSE_LONG 32

/* Where a tile of up to rows by columns starts in x and y, and how much of it there is. */
typedef struct qk_transpose {
  ptrdiff_t x, y;
  int32_t rows, columns;
} qk_transpose;
QK_INLINE qk_transpose qk_transpose_at(const qk_quantize_transposed_params* p, int32_t batch,
                                       int32_t row, int32_t column, int32_t rows, int32_t columns) {
  const ptrdiff_t image = (ptrdiff_t)batch * p->rows * p->columns;
  const qk_transpose t = {image + (ptrdiff_t)row * p->columns + column,
                          image + (ptrdiff_t)column * p->rows + row,
                          p->rows - row < rows ? p->rows - row : rows,
                          p->columns - column < columns ? p->columns - column : columns};
  return t;
}
QK_INLINE int32_t qk_transposed_code(const qk_quantize_transposed_params* p, float x, float scale,
                                     int32_t zero) {
  return qn_code(p->reciprocal ? qn_mulf(x, scale) : x / scale, zero, p->lo, p->hi);
}
#define QK_FOR_EACH_TRANSPOSED_BLOCK(p, ROWS, COLUMNS)  \
  for (int32_t b = 0; b < (p)->batch; ++b)              \
    for (int32_t row = 0; row < (p)->rows; row += ROWS) \
      for (int32_t column = 0; column < (p)->columns; column += COLUMNS)

/* What the bytes of a code of this type mean. */
QK_INLINE int32_t qk_transposed_value(uint16_t bytes, int32_t type) {
  if (type == QK_I8) return (int8_t)bytes;
  return type == QK_I16 ? (int16_t)bytes : (int32_t)bytes;
}

/* `size` is that of a code in bytes, a constant like `type` where this is inlined. */
QK_INLINE void qk_quantize_transposed(const qk_quantize_transposed_params* p, const float* x,
                                      float scale, int32_t zero, void* y, int32_t size) {
  uint16_t tile[QK_TRANSPOSE_SHORT][QK_TRANSPOSE_LONG];
  QK_FOR_EACH_TRANSPOSED_BLOCK(p, QK_TRANSPOSE_SHORT, QK_TRANSPOSE_LONG) {
    const qk_transpose at =
        qk_transpose_at(p, b, row, column, QK_TRANSPOSE_SHORT, QK_TRANSPOSE_LONG);
    for (int32_t r = 0; r < at.rows; ++r) {
      const float* from = x + at.x + (ptrdiff_t)r * p->columns;
      if (at.columns == QK_TRANSPOSE_LONG) {
        for (int32_t c = 0; c < QK_TRANSPOSE_LONG; ++c) {
          tile[r][c] = (uint16_t)qk_transposed_code(p, from[c], scale, zero);
        }
      } else {
        for (int32_t c = 0; c < at.columns; ++c) {
          tile[r][c] = (uint16_t)qk_transposed_code(p, from[c], scale, zero);
        }
      }
    }
    for (int32_t c = 0; c < at.columns; ++c) {
      const ptrdiff_t to = at.y + (ptrdiff_t)c * p->rows;
      for (int32_t r = 0; r < at.rows; ++r) {
        if (size == 1) {
          ((uint8_t*)y)[to + r] = (uint8_t)tile[r][c];
        } else {
          ((uint16_t*)y)[to + r] = tile[r][c];
        }
      }
    }
  }
}

QK_INLINE void qk_dequantize_transposed(const qk_quantize_transposed_params* p, const void* x,
                                        float scale, int32_t zero, float* y, int32_t size,
                                        int32_t type) {
  uint16_t tile[QK_TRANSPOSE_SHORT][QK_TRANSPOSE_LONG];
  QK_FOR_EACH_TRANSPOSED_BLOCK(p, QK_TRANSPOSE_LONG, QK_TRANSPOSE_SHORT) {
    const qk_transpose at =
        qk_transpose_at(p, b, row, column, QK_TRANSPOSE_LONG, QK_TRANSPOSE_SHORT);
    for (int32_t r = 0; r < at.rows; ++r) {
      const ptrdiff_t from = at.x + (ptrdiff_t)r * p->columns;
      for (int32_t c = 0; c < at.columns; ++c) {
        tile[c][r] = size == 1 ? ((const uint8_t*)x)[from + c] : ((const uint16_t*)x)[from + c];
      }
    }
    for (int32_t c = 0; c < at.columns; ++c) {
      float* to = y + at.y + (ptrdiff_t)c * p->rows;
      if (at.rows == QK_TRANSPOSE_LONG) {
        for (int32_t r = 0; r < QK_TRANSPOSE_LONG; ++r) {
          to[r] = qn_dequantize(qk_transposed_value(tile[c][r], type), scale, zero);
        }
      } else {
        for (int32_t r = 0; r < at.rows; ++r) {
          to[r] = qn_dequantize(qk_transposed_value(tile[c][r], type), scale, zero);
        }
      }
    }
  }
}

#define QK_DEFINE_TRANSPOSED(t, T, TYPE)                                                          \
  QK_INLINE void qk_quantize_transposed_##t(const qk_quantize_transposed_params* p,               \
                                            const float* x, const float* s, const int32_t* z,     \
                                            T* y) {                                               \
    qk_quantize_transposed(p, x, s[0], z ? z[0] : 0, y, (int32_t)sizeof(T));                      \
  }                                                                                               \
  QK_INLINE void qk_dequantize_transposed_##t(const qk_quantize_transposed_params* p, const T* x, \
                                              const float* s, const int32_t* z, float* y) {       \
    qk_dequantize_transposed(p, x, s[0], z ? z[0] : 0, y, (int32_t)sizeof(T), TYPE);              \
  }
QK_DEFINE_TRANSPOSED(i8, int8_t, QK_I8)
QK_DEFINE_TRANSPOSED(u8, uint8_t, QK_U8)
QK_DEFINE_TRANSPOSED(i16, int16_t, QK_I16)
QK_DEFINE_TRANSPOSED(u16, uint16_t, QK_U16)

QK_INLINE void qk_lookup_8_8(const qk_lookup_params* p, const uint8_t* x, const uint8_t* table,
                             uint8_t* y) {
  int32_t i = 0;
#if QK_ACC_REGISTERS == 1
  const qk_byte_table t = qk_byte_table_load(table);
  for (; i + 64 <= p->n; i += 64) qk_byte_table_64(&t, x + i, y + i);
#endif
  for (; i < p->n; ++i) y[i] = table[x[i]];
}
QK_INLINE void qk_lookup_8_16(const qk_lookup_params* p, const uint8_t* x, const uint16_t* table,
                              uint16_t* y) {
  for (int32_t i = 0; i < p->n; ++i) y[i] = table[x[i]];
}

#define QK_DEFINE_LOOKUP_ROWS(bits, T)                                                       \
  QK_INLINE void qk_lookup_rows_##bits(const qk_lookup_rows_params* p, const uint8_t* x,     \
                                       const T* table, T* y) {                               \
    const qk_lookup_params row = {p->n};                                                     \
    for (int32_t i = 0; i < p->outer; ++i) {                                                 \
      qk_lookup_8_##bits(&row, x + (ptrdiff_t)i * p->x_row, table, y + (ptrdiff_t)i * p->n); \
    }                                                                                        \
  }
QK_DEFINE_LOOKUP_ROWS(8, uint8_t)
QK_DEFINE_LOOKUP_ROWS(16, uint16_t)

#define QK_DEFINE_REQUANTIZE(s, S, t, T)                                                     \
  QK_INLINE void qk_requantize_##s##_##t(const qk_requantize_params* p, const S* x, T* y) {  \
    for (int32_t i = 0; i < p->n; ++i) {                                                     \
      const float v = qn_dequantize((int32_t)x[i], p->sx, p->zx);                            \
      y[i] = (T)qn_code(p->reciprocal ? qn_mulf(v, p->sy) : v / p->sy, p->zy, p->lo, p->hi); \
    }                                                                                        \
  }
#define QK_DEFINE_REQUANTIZE_FROM(s, S)    \
  QK_DEFINE_REQUANTIZE(s, S, i8, int8_t)   \
  QK_DEFINE_REQUANTIZE(s, S, u8, uint8_t)  \
  QK_DEFINE_REQUANTIZE(s, S, i16, int16_t) \
  QK_DEFINE_REQUANTIZE(s, S, u16, uint16_t)
QK_DEFINE_REQUANTIZE_FROM(i16, int16_t)
QK_DEFINE_REQUANTIZE_FROM(u16, uint16_t)

/* Codes of `size` bytes, as kernels that end in codes make them. */
QK_INLINE void qk_dynamic_rows(const qk_dynamic_params* p, const float* x, void* y, int32_t size,
                               float* s, int32_t* z) {
  const int32_t n = p->n, run = p->run && p->run < n ? p->run : n; /* that follow each other */
  qk_quantize_epilogue e = {0};
  e.to.lo = p->lo;
  e.to.hi = p->hi;
  e.to.size = size;
  e.y = (uint8_t*)y;
  for (int32_t r = 0; r < p->rows; ++r) {
    const ptrdiff_t at = (ptrdiff_t)r * n, in_x = (ptrdiff_t)(p->first + r) * n;
    const float* row = x + (p->run ? in_x / p->run * p->x_run + in_x % p->run : in_x);
    qk_range range = {0.0f, 0.0f};
    for (int32_t i = 0; i < n / run; ++i) {
      qk_epilogue_range(row + (ptrdiff_t)i * p->x_run, run, &range);
    }
    qn_range_scale(range.least, range.most, p->lo, p->hi, p->symmetric, s + r, z + r);
    for (int32_t i = 0; i < n / run; ++i) {
      qk_epilogue_codes(&e, row + (ptrdiff_t)i * p->x_run, run, s[r], z[r],
                        at + (ptrdiff_t)i * run);
    }
  }
}
#define QK_DEFINE_DYNAMIC(t, T)                                                             \
  QK_INLINE void qk_dynamic_##t(const qk_dynamic_params* p, const float* x, T* y, float* s, \
                                int32_t* z) {                                               \
    qk_dynamic_rows(p, x, y, (int32_t)sizeof(T), s, z);                                     \
  }
QK_DEFINE_DYNAMIC(i8, int8_t)
QK_DEFINE_DYNAMIC(u8, uint8_t)
QK_DEFINE_DYNAMIC(i16, int16_t)
QK_DEFINE_DYNAMIC(u16, uint16_t)
