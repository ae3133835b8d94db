/* A unit is a block. */
#include "kernels/common/split.h"

#include "kernels/fit/fit.h"
#include "kernels/fit/operands.h"

#define QK_SPLIT_FIT(bytes)                                             \
  QK_SPLIT_OUTER(qk_fit_##bytes, qk_fit_params, QK_FIT_IN_X,            \
                 (ptrdiff_t)p->from * p->inner * (bytes), QK_FIT_OUT_Y, \
                 (ptrdiff_t)p->to * p->inner * (bytes))
QK_SPLIT_FIT(1)
QK_SPLIT_FIT(2)
QK_SPLIT_FIT(4)
QK_SPLIT_FIT(8)
