#ifndef QK_REDUCE_H
#define QK_REDUCE_H
#include <stdint.h>

/* y[o] = OP over one row of x per element of y. Row o starts at an offset given by the outer loops
 * (element strides in x); its elements come from the inner loops in order, the last one fastest.
 * Floats are reduced in the order of kernels/numerics/reduce.h: element i of a row in lane i
 * mod 16. f16 and bf16 compute in f32 and round the result. var and std divide by n - correction.
 */
typedef struct {
  int32_t outer_rank; /* 1 to 8 */
  int32_t outer_dims[8], outer_strides[8];
  int32_t inner_rank; /* 1 to 8 */
  int32_t inner_dims[8], inner_strides[8];
  float correction;
} qk_reduce_params;

#endif
