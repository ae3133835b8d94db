#ifndef QK_COMPARE_H
#define QK_COMPARE_H
#include "kernels/common/elementwise.h"

/* y = qn_OP(a, b) as bytes of 0 or 1, with broadcasting; and, or, xor take such bytes. */

#endif
