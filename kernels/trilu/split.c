/* A unit is a row of a matrix. */
#include "kernels/common/split.h"

#include "kernels/trilu/operands.h"
#include "kernels/trilu/trilu.h"

QK_INLINE int32_t qk_trilu_subrange(qk_trilu_params* p, const void** in, void** out,
                                    const int32_t* units, ptrdiff_t bytes) {
  const qk_items r = qk_items_of(units, p->rows, 1);
  const ptrdiff_t at = (ptrdiff_t)units[0] * p->columns * bytes;
  qk_move(&in[QK_TRILU_IN_X], at);
  qk_move_result(&out[QK_TRILU_OUT_Y], at);
  p->batch = 1;
  p->rows = r.count;
  p->k += r.first;
  return r.next;
}

#define QK_SPLIT_TRILU(bytes)                                                                    \
  QK_INLINE int32_t qk_trilu_##bytes##_units(const qk_trilu_params* p) {                         \
    return p->batch * p->rows;                                                                   \
  }                                                                                              \
  QK_INLINE int32_t qk_trilu_##bytes##_subrange(qk_trilu_params* p, const void** in, void** out, \
                                                const int32_t* units) {                          \
    return qk_trilu_subrange(p, in, out, units, bytes);                                          \
  }
QK_SPLIT_TRILU(1)
QK_SPLIT_TRILU(2)
QK_SPLIT_TRILU(4)
QK_SPLIT_TRILU(8)
