/* A unit is a run of the outer axis. */
#include "kernels/common/split.h"

#include "kernels/arg/arg.h"

#define QK_SPLIT_ARG(bytes)                                                           \
  QK_SPLIT_OUTER(qk_arg_##bytes, qk_arg_params, (ptrdiff_t)p->n * p->inner * (bytes), \
                 (ptrdiff_t)p->inner * 8)
QK_SPLIT_ARG(1)
QK_SPLIT_ARG(2)
QK_SPLIT_ARG(4)
QK_SPLIT_ARG(8)
