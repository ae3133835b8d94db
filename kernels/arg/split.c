/* A unit is a run of the outer axis. */
#include "kernels/common/split.h"

#include "kernels/arg/arg.h"
#include "kernels/arg/operands.h"

#define QK_SPLIT_ARG(bytes)                                                                        \
  QK_SPLIT_OUTER(qk_arg_##bytes, qk_arg_params, QK_ARG_IN_X, (ptrdiff_t)p->n * p->inner * (bytes), \
                 QK_ARG_OUT_Y, (ptrdiff_t)p->inner * 8)
QK_SPLIT_ARG(1)
QK_SPLIT_ARG(2)
QK_SPLIT_ARG(4)
QK_SPLIT_ARG(8)

#define QK_SPLIT_SORT(bytes)                                                                   \
  QK_INLINE int32_t qk_sort_##bytes##_units(const qk_sort_params* p) { return p->outer; }      \
  QK_INLINE int32_t qk_sort_##bytes##_subrange(qk_sort_params* p, const void** in, void** out, \
                                               const int32_t* units) {                         \
    qk_move(&in[QK_MERGE_SORT_IN_X], (ptrdiff_t)units[0] * p->n * p->inner * (bytes));         \
    qk_move_result(&out[QK_MERGE_SORT_OUT_VALUES],                                             \
                   (ptrdiff_t)units[0] * p->k * p->inner * (bytes));                           \
    qk_move_optional(&out[QK_MERGE_SORT_OUT_POSITIONS],                                        \
                     (ptrdiff_t)units[0] * p->k * p->inner * 8);                               \
    qk_move_result(&out[QK_MERGE_SORT_OUT_SCRATCH], (ptrdiff_t)units[0] * p->n * 8);           \
    p->outer = units[1] - units[0];                                                            \
    return units[1];                                                                           \
  }
QK_SPLIT_SORT(1)
QK_SPLIT_SORT(2)
QK_SPLIT_SORT(4)
QK_SPLIT_SORT(8)
