/* A unit is a run of the outer axis: a row, where the axis is the last. */
#include "kernels/common/split.h"

#include "kernels/qsoftmax/operands.h"
#include "kernels/qsoftmax/qsoftmax.h"

QK_SPLIT_OUTER(qk_qsoftmax, qk_qsoftmax_params, QK_QSOFTMAX_IN_X,
               (ptrdiff_t)p->n * p->inner * qk_code_bytes(p->type_x), QK_QSOFTMAX_OUT_Y,
               (ptrdiff_t)p->n * p->inner * qk_code_bytes(p->type_y))
