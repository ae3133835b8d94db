#ifndef QK_QREDUCE_H
#define QK_QREDUCE_H
#include <stdint.h>

/* y[o] = the code of (the exact sum of a row of codes less their zero point) * multiplier, rows as
 * in qk_reduce_params; _q31: of (the sum) * mantissa * 2^-shift / divisor, in integers; _mean: of
 * (the sum) * multiplier / (scale_y * divisor), for rows whose length a run chooses.
 * Types are those of kernels/common/codes.h. Arguments: x, y. */
typedef struct {
  int32_t outer_rank; /* 1 to 8 */
  int32_t outer_dims[8], outer_strides[8];
  int32_t inner_rank; /* 1 to 8 */
  int32_t inner_dims[8], inner_strides[8];
  int32_t type_x, type_y;
  int32_t zx, zero, lo, hi;
  float multiplier;
  int32_t mantissa, shift, divisor;
  float scale_y; /* _mean */
} qk_qreduce_params;

#endif
