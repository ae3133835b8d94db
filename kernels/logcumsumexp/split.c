/* A unit is a run of the outer axis. */
#include "kernels/common/split.h"

#include "kernels/logcumsumexp/logcumsumexp.h"

#define QK_SPLIT_LOGCUMSUMEXP(bytes)                              \
  QK_SPLIT_OUTER(qk_logcumsumexp_##bytes, qk_logcumsumexp_params, \
                 (ptrdiff_t)p->n * p->inner * (bytes), (ptrdiff_t)p->n * p->inner * (bytes))
QK_SPLIT_LOGCUMSUMEXP(2)
QK_SPLIT_LOGCUMSUMEXP(4)
QK_SPLIT_LOGCUMSUMEXP(8)
