/* A unit is a run of the outer axis. */
#include "kernels/common/split.h"

#include "kernels/one_hot/one_hot.h"
#include "kernels/one_hot/operands.h"

QK_SPLIT_OUTER(qk_one_hot, qk_one_hot_params, QK_ONE_HOT_IN_INDICES, (ptrdiff_t)p->inner * 8,
               QK_ONE_HOT_OUT_Y, (ptrdiff_t)p->depth * p->inner * p->block)
