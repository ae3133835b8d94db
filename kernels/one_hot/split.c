/* A unit is a run of the outer axis. */
#include "kernels/common/split.h"

#include "kernels/one_hot/one_hot.h"

QK_SPLIT_OUTER(qk_one_hot, qk_one_hot_params, (ptrdiff_t)p->inner * 8,
               (ptrdiff_t)p->depth * p->inner * p->block)
