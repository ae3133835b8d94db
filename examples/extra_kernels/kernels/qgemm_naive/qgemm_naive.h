#ifndef QK_QGEMM_NAIVE_H
#define QK_QGEMM_NAIVE_H

#include "kernels/qgemm/call.h"

/* qgemm as its call states it, weights plain: every sum by itself. Takes calls with codes of x that
 * have one known zero point and weights without any. Arguments: x, w, bias (of the sums, may be
 * null), multipliers, bias (float, may be null), residual (may be null), y. */

#endif
