#ifndef QK_ACTIVATION_H
#define QK_ACTIVATION_H
#include <stdint.h>

/* Rows of n elements qn_OP(x), or of rounded products qn_OP(x) * factor, stored as codes
 * (kernels/common/ending.h). Rows of x and of the factor start x_stride and factor_stride elements
 * apart. Arguments: x, factor (may be null), scales,
 * zeros, y, y_scales, y_zeros, floats. */
typedef struct {
  int32_t rows, n, x_stride, factor_stride;
  int32_t e_mode, e_lo, e_hi, e_symmetric, e_reciprocal, e_size, e_keep, e_batch, e_span;
  int32_t e_axis, e_inner, e_group, e_s_outer, e_s_axis, e_s_inner;
} qk_activation_quantize_params;

#endif
