/* A unit is a run of the outer axis. */
#include "kernels/common/split.h"

#include "kernels/logcumsumexp/logcumsumexp.h"
#include "kernels/logcumsumexp/operands.h"

#define QK_SPLIT_LOGCUMSUMEXP(bytes)                                                    \
  QK_SPLIT_OUTER(qk_logcumsumexp_##bytes, qk_logcumsumexp_params, QK_LOGCUMSUMEXP_IN_X, \
                 (ptrdiff_t)p->n * p->inner * (bytes), QK_LOGCUMSUMEXP_OUT_Y,           \
                 (ptrdiff_t)p->n * p->inner * (bytes))
QK_SPLIT_LOGCUMSUMEXP(2)
QK_SPLIT_LOGCUMSUMEXP(4)
QK_SPLIT_LOGCUMSUMEXP(8)
