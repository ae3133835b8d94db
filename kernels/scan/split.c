/* A unit is a run of the outer axis. */
#include "kernels/common/split.h"

#include "kernels/scan/operands.h"
#include "kernels/scan/scan.h"

#define QK_SPLIT_SCAN(bytes)                                                                    \
  QK_SPLIT_OUTER(qk_scan_##bytes, qk_scan_params, QK_SCAN_IN_X,                                 \
                 (ptrdiff_t)p->n * p->inner * (bytes), QK_SCAN_OUT_Y,                           \
                 (ptrdiff_t)p->n * p->inner * (bytes))                                          \
  QK_INLINE int32_t qk_extreme_##bytes##_units(const qk_extreme_params* p) { return p->outer; } \
  QK_INLINE int32_t qk_extreme_##bytes##_subrange(qk_extreme_params* p, const void** in,        \
                                                  void** out, const int32_t* units) {           \
    const ptrdiff_t at = (ptrdiff_t)units[0] * p->n * p->inner;                                 \
    qk_move(&in[QK_SCAN_EXTREME_IN_X], at*(bytes));                                             \
    qk_move_result(&out[QK_SCAN_EXTREME_OUT_Y], at*(bytes));                                    \
    qk_move_result(&out[QK_SCAN_EXTREME_OUT_POSITIONS], at * 8);                                \
    p->outer = units[1] - units[0];                                                             \
    return units[1];                                                                            \
  }
QK_SPLIT_SCAN(1)
QK_SPLIT_SCAN(2)
QK_SPLIT_SCAN(4)
QK_SPLIT_SCAN(8)
