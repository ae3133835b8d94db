#ifndef QK_SOFTMAX_H
#define QK_SOFTMAX_H
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* x and y are [outer, n, inner]; rows run along n. With m the largest element of a row and s the
 * sum of exp(x - m), both as row reductions (kernels/numerics/reduce.h): softmax is exp(x - m) / s,
 * log_softmax is (x - m) - log(s). f16 and bf16 compute in f32 and round once. y may be x for
 * softmax, not for log_softmax. Rows that have no softmax give zeros when `zero` says so: 1, rows
 * of nothing but -inf; 2, all rows that would be NaN. */
typedef struct {
  int32_t outer, n, inner, zero;
} qk_softmax_params;

/* qk_softmax_quantize: softmax of f32 rows, stored as codes (kernels/common/quantize_epilogue.h)
 * whose rows are the [n, inner] of one `outer`. Arguments: x, scales, zeros, y, y_scales, y_zeros,
 * floats. */
typedef struct {
  int32_t outer, n, inner, zero;
  qk_quantize_out quantize;
} qk_softmax_quantize_params;

#endif
