/* A unit is a run of the outer axis. */
#include "kernels/common/split.h"

#include "kernels/resize/operands.h"
#include "kernels/resize/resize.h"

QK_SPLIT_OUTER(qk_resize_4, qk_resize_params, QK_RESIZE_IN_X, (ptrdiff_t)p->in * p->inner * 4,
               QK_RESIZE_OUT_Y, (ptrdiff_t)p->out * p->inner * 4)
QK_SPLIT_OUTER(qk_resize_8, qk_resize_params, QK_RESIZE_IN_X, (ptrdiff_t)p->in * p->inner * 8,
               QK_RESIZE_OUT_Y, (ptrdiff_t)p->out * p->inner * 8)
