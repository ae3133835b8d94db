#ifndef QK_BINARY_H
#define QK_BINARY_H
#include "kernels/c/elementwise.h"

/* y = qn_OP(a, b) with broadcasting, OP and the type in the kernel's name. y may be an operand that
 * is walked like y itself. */

#endif
