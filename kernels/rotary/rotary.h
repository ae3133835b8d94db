#ifndef QK_ROTARY_H
#define QK_ROTARY_H
#include "kernels/common/elementwise.h"
#include "kernels/epilogue/epilogue.h"

/* Rotates pairs of elements along the last dim: the pair (a, b) at i and j becomes
 *   y[i] = fma(-b, sin[i], a * cos[i]),  y[j] = fma(a, sin[j], b * cos[j]).
 * Pairs are (k, k + n/2), or the neighbours (2k, 2k + 1) when interleaved. cos and sin are walked
 * with element strides c and s; 0 repeats. Rows of x lie with the strides x_at, rows of y follow
 * each other. Rows whose index along `axis` is not one of `count` from `first` on are copied. y may
 * be x where that is dense.
 *
 * With `norm` the f32 rows that rotate are normalised before, as by an rms norm of kernels/norm
 * with this eps; gamma (may be null) has the factors of their elements, at (index - first) *
 * gamma_at. Arguments: x, cos, sin, gamma, y. */
typedef struct {
  int32_t rank; /* 1 to 8 */
  int32_t dims[8];
  int32_t x_at[8], c[8], s[8];
  int32_t axis, first, count;
  int32_t interleaved, norm, gamma_at;
  float eps;
} qk_rotary_params;

/* qk_rotary_quantize: the same of f32 rows, stored as codes (kernels/common/quantize_epilogue.h). x
 * may be codes of x_type (kernels/common/codes.h): then the rows with index i along `axis` have the
 * scale and zero point at i * x_step of x_scales and of x_zeros (may be null: 0). Arguments: x,
 * cos, sin, gamma, x_scales, x_zeros, scales, zeros, y, y_scales, y_zeros, floats. */
typedef struct {
  int32_t rank;
  int32_t dims[8];
  int32_t x_at[8], c[8], s[8];
  int32_t axis, first, count;
  int32_t interleaved, norm, gamma_at;
  float eps;
  int32_t x_type, x_step;
  qk_quantize_out quantize;
} qk_rotary_quantize_params;

#endif
