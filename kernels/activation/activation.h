#ifndef QK_ACTIVATION_H
#define QK_ACTIVATION_H
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* Rows of n elements qn_OP(x), or of rounded products qn_OP(x) * factor, stored as codes
 * (kernels/common/quantize_epilogue.h). Rows of x and of the factor start x_stride and
 * factor_stride elements apart. Arguments: x, factor (may be null), scales, zeros, y, y_scales,
 * y_zeros, floats. */
typedef struct {
  int32_t rows, n, x_stride, factor_stride;
  qk_quantize_out quantize;
} qk_activation_quantize_params;

#endif
