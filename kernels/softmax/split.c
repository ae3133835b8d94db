/* A unit is a run of the outer axis: a row, where the axis is the last. */
#include "kernels/common/split.h"

#include "kernels/softmax/operands.h"
#include "kernels/softmax/softmax.h"

QK_SPLIT_OUTER(qk_softmax_2, qk_softmax_params, QK_SOFTMAX_IN_X, (ptrdiff_t)p->n * p->inner * 2,
               QK_SOFTMAX_OUT_Y, (ptrdiff_t)p->n * p->inner * 2)
QK_SPLIT_OUTER(qk_softmax_4, qk_softmax_params, QK_SOFTMAX_IN_X, (ptrdiff_t)p->n * p->inner * 4,
               QK_SOFTMAX_OUT_Y, (ptrdiff_t)p->n * p->inner * 4)
QK_SPLIT_OUTER(qk_softmax_8, qk_softmax_params, QK_SOFTMAX_IN_X, (ptrdiff_t)p->n * p->inner * 8,
               QK_SOFTMAX_OUT_Y, (ptrdiff_t)p->n * p->inner * 8)
