#ifndef QK_BINARY_H
#define QK_BINARY_H
#include "kernels/common/elementwise.h"

/* y = qn_OP(a, b) with broadcasting, OP and the type in the kernel's name. y may be an operand that
 * is walked like y itself. */

/* The same limited to [lo, hi], NaN staying NaN: a clamp after the function. */
typedef struct {
  int32_t rank; /* 1 to 8 */
  int32_t dims[8];
  int32_t a[8], b[8];
  float lo, hi;
} qk_broadcast2_clamp_params;

#endif
