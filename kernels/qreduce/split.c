/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/qreduce/operands.h"
#include "kernels/qreduce/qreduce.h"

QK_INLINE int32_t qk_qreduce_units(const qk_qreduce_params* p) {
  return qk_box_units(p->outer_rank, p->outer_dims);
}
QK_INLINE int32_t qk_qreduce_subrange(qk_qreduce_params* p, const void** in, void** out,
                                      int32_t* units) {
  int32_t index[8];
  const int32_t next = qk_box_subrange(p->outer_rank, p->outer_dims, index, units);
  qk_move(&in[QK_QREDUCE_IN_X],
          qk_box_position(p->outer_rank, index, p->outer_strides) * qk_code_bytes(p->type_x));
  qk_move_result(&out[QK_QREDUCE_OUT_Y], (ptrdiff_t)units[0] * qk_code_bytes(p->type_y));
  return next;
}
