/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/where/operands.h"
#include "kernels/where/where.h"

#define QK_SPLIT_WHERE(B)                                                                          \
  QK_INLINE int32_t qk_where_##B##_advance(const qk_broadcast3_params* p, int32_t first,           \
                                           const void** in, void** out) {                          \
    qk_move(&in[QK_WHERE_IN_CONDITION], qk_box_at(p->rank, p->dims, p->c, first));                 \
    qk_move(&in[QK_WHERE_IN_YES], qk_box_at(p->rank, p->dims, p->a, first) * (B));                 \
    qk_move(&in[QK_WHERE_IN_NO], qk_box_at(p->rank, p->dims, p->b, first) * (B));                  \
    qk_move_result(&out[QK_WHERE_OUT_Y], (ptrdiff_t)first*(B));                                    \
    return qk_box_left(p->rank, p->dims, first);                                                   \
  }                                                                                                \
  QK_INLINE int32_t qk_where_##B##_spans(const qk_broadcast3_params* p, qk_broadcast3_params* one, \
                                         int32_t* bytes, int32_t* steps) {                         \
    return qk_where_spans(p, one, bytes, steps, B);                                                \
  }                                                                                                \
  QK_SPLIT_BROADCAST(qk_where_##B, qk_broadcast3_params)

QK_INLINE int32_t qk_where_spans(const qk_broadcast3_params* p, qk_broadcast3_params* one,
                                 int32_t* bytes, int32_t* steps, int32_t size) {
  one->rank = one->dims[0] = 1;
  bytes[QK_WHERE_IN_CONDITION] = 1;
  bytes[QK_WHERE_IN_YES] = bytes[QK_WHERE_IN_NO] = size;
  steps[QK_WHERE_IN_CONDITION] = qk_box_last(p->rank, p->c);
  steps[QK_WHERE_IN_YES] = qk_box_last(p->rank, p->a);
  steps[QK_WHERE_IN_NO] = qk_box_last(p->rank, p->b);
  return size;
}
QK_SPLIT_WHERE(1)
QK_SPLIT_WHERE(2)
QK_SPLIT_WHERE(4)
QK_SPLIT_WHERE(8)
