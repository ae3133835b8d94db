/* Codes of a head as blocks of threads read them. */
#ifndef QK_QATTENTION_BLOCK_CODES_H
#define QK_QATTENTION_BLOCK_CODES_H

#include "kernels/attention/heads.h"
#include "kernels/common/codes.h"
#include "kernels/common/cuda.h"
#include "kernels/qattention/qattention.h"

/* Rows of a head: codes of 8 bits, and scales and zero points of them, `row`, `scale_row` and
 * `zero_row` apart; null: one for all. */
typedef struct qk_block_codes {
  const void* codes;
  const float* scales;
  const int32_t* zeros;
  int64_t at, row, scale_row, zero_row; /* `at` is the first of the codes */
  int32_t type, zero;
  float scale;
} qk_block_codes;
QK_UNIT int32_t qk_block_code_at(const qk_block_codes* x, int64_t row, int32_t i) {
  const int64_t at = x->at + row * x->row + i;
  return x->type == QK_I8 ? ((const int8_t*)x->codes)[at] : ((const uint8_t*)x->codes)[at];
}
QK_UNIT int32_t qk_block_zero(const qk_block_codes* x, int64_t row) {
  return x->zeros ? x->zeros[row * x->zero_row] : x->zero;
}
QK_UNIT float qk_block_scale(const qk_block_codes* x, int64_t row) {
  return x->scales ? x->scales[row * x->scale_row] : x->scale;
}
#define QK_BLOCK_CODES(p, x, x_scales, x_zeros, b, h)                                    \
  {                                                                                      \
    x, (x_scales) ? (const float*)(x_scales) + qk_head_at((p)->x##_scales_at, b, h) : 0, \
        (x_zeros) ? (const int32_t*)(x_zeros) + qk_head_at((p)->x##_zeros_at, b, h) : 0, \
        qk_head_at((p)->x##_at, b, h), (p)->x##_at[2], (p)->x##_scales_at[2],            \
        (p)->x##_zeros_at[2], (p)->x##_type, (p)->x##_zero, (p)->x##_scale               \
  }

#endif
