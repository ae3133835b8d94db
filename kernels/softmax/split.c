/* A unit is a run of the outer axis: a row, where the axis is the last. */
#include "kernels/common/split.h"

#include "kernels/softmax/softmax.h"

QK_SPLIT_OUTER(qk_softmax_2, qk_softmax_params, (ptrdiff_t)p->n * p->inner * 2,
               (ptrdiff_t)p->n * p->inner * 2)
QK_SPLIT_OUTER(qk_softmax_4, qk_softmax_params, (ptrdiff_t)p->n * p->inner * 4,
               (ptrdiff_t)p->n * p->inner * 4)
QK_SPLIT_OUTER(qk_softmax_8, qk_softmax_params, (ptrdiff_t)p->n * p->inner * 8,
               (ptrdiff_t)p->n * p->inner * 8)
