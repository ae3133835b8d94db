/* A unit is a run of the outer axis: a row, where the axis is the last. */
#include "kernels/common/split.h"

#include "kernels/qsoftmax/qsoftmax.h"

QK_SPLIT_OUTER(qk_qsoftmax, qk_qsoftmax_params,
               (ptrdiff_t)p->n * p->inner * qk_code_bytes(p->type_x),
               (ptrdiff_t)p->n * p->inner * qk_code_bytes(p->type_y))
