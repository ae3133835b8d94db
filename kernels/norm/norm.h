#ifndef QK_NORM_H
#define QK_NORM_H
#include <stddef.h>
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* Normalisations of rows of n elements. Sums are row reductions (kernels/numerics/reduce.h), of
 * 16-bit floats in f32.
 *
 * mean = sum / n; var = (sum of (x - mean)^2) / n; rstd = 1 / sqrt(var + eps). With `center` 0 the
 * mean is 0 (rms norm). y = ((x - mean) * rstd) * gamma + beta: the products rounded, the last one
 * fused with beta. Element i of row r has channel (r % groups) * (n / inner) + i / inner.
 * Arguments: x, gamma and beta (may be null), y, mean and rstd (may be null; f32 for 16-bit
 * floats). Of f64 rows eps is eps + eps_rest, a double to 48 bits.
 *
 * Rows of x follow each other or, where x_rows is not 0, x_rows of them do: such blocks begin
 * x_block elements from each other. The first row is `first`.
 */
#define QK_NORM_ROW(p, r)                                                                        \
  ((p)->x_rows                                                                                   \
       ? (ptrdiff_t)((r) / (p)->x_rows) * (p)->x_block + (ptrdiff_t)((r) % (p)->x_rows) * (p)->n \
       : (ptrdiff_t)(r) * (p)->n)
typedef struct {
  int32_t rows, n, groups, inner, center;
  float eps, eps_rest;
  int32_t x_rows, x_block, first;
} qk_norm_params;

/* qk_norm_quantize: the same of f32 rows, stored as codes (kernels/common/quantize_epilogue.h). x
 * may be codes of x_type (kernels/common/codes.h) with one scale and zero point, decoded first.
 * With a residual the rows are x + residual, rounded, which `sums` keeps where it is there. sums
 * may be x or the residual. Arguments: x, residual (may be null), gamma, beta, scales, zeros, y,
 * y_scales, y_zeros, sums (may be null), floats. */
typedef struct {
  int32_t rows, n, groups, inner, center;
  float eps;
  int32_t x_type, x_zero;
  float x_scale;
  int32_t x_rows, x_block;
  qk_quantize_out quantize;
} qk_norm_quantize_params;

/* y[o, c, i] = x[o, c, i] * scale[c] + shift[c], fused. y may be x. Arguments: x, scale, shift, y.
 */
typedef struct {
  int32_t outer, channels, inner;
} qk_scale_shift_params;

/* y = x / (bias + alpha * sum)^beta over channel windows: the sum of squares of channels c - before
 * to c + after, ascending, by fma; alpha times it fused with bias. x, y [outer, channels, inner].
 */
typedef struct {
  int32_t outer, channels, inner, before, after;
  float alpha, beta, bias;
} qk_lrn_params;

#endif
