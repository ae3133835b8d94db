/* A unit is a row of pairs. */
#include "kernels/common/split.h"

#include "kernels/rotary/operands.h"
#include "kernels/rotary/rotary.h"

QK_INLINE int32_t qk_rotary_rows(const qk_rotary_params* p) {
  return qk_box_units(p->rank - 1, p->dims);
}
QK_INLINE int32_t qk_rotary_rows_subrange(qk_rotary_params* p, const void** in, void** out,
                                          const int32_t* units, ptrdiff_t bytes) {
  const int32_t rows = p->rank - 1;
  const ptrdiff_t from = (ptrdiff_t)units[0] * p->dims[rows] * bytes;
  int32_t index[8];
  const int32_t next = rows ? qk_box_subrange(rows, p->dims, index, units) : units[1];
  qk_move(&in[QK_ROTARY_IN_X], qk_box_position(rows, index, p->x_at) * bytes);
  qk_move(&in[QK_ROTARY_IN_COS], qk_box_position(rows, index, p->c) * bytes);
  qk_move(&in[QK_ROTARY_IN_SIN], qk_box_position(rows, index, p->s) * bytes);
  qk_move_result(&out[QK_ROTARY_OUT_Y], from);
  if (p->axis < rows) p->first -= index[p->axis];
  return next;
}

#define QK_SPLIT_ROTARY(bytes)                                                                     \
  QK_INLINE int32_t qk_rotary_##bytes##_units(const qk_rotary_params* p) {                         \
    return qk_rotary_rows(p);                                                                      \
  }                                                                                                \
  QK_INLINE int32_t qk_rotary_##bytes##_subrange(qk_rotary_params* p, const void** in, void** out, \
                                                 int32_t* units) {                                 \
    return qk_rotary_rows_subrange(p, in, out, units, bytes);                                      \
  }
QK_SPLIT_ROTARY(2)
QK_SPLIT_ROTARY(4)
QK_SPLIT_ROTARY(8)
