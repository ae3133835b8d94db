/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/where/where.h"

#define QK_SPLIT_WHERE(bytes)                                                                     \
  QK_INLINE int32_t qk_where_##bytes##_units(const qk_broadcast3_params* p) {                     \
    return qk_box_units(p->rank, p->dims);                                                        \
  }                                                                                               \
  QK_INLINE int32_t qk_where_##bytes##_part(qk_broadcast3_params* p, const void** in, void** out, \
                                            int32_t* units) {                                     \
    int32_t index[8];                                                                             \
    const int32_t next = qk_box_part(p->rank, p->dims, index, units);                             \
    qk_move(&in[0], qk_box_place(p->rank, index, p->c));                                          \
    qk_move(&in[1], qk_box_place(p->rank, index, p->a) * (bytes));                                \
    qk_move(&in[2], qk_box_place(p->rank, index, p->b) * (bytes));                                \
    qk_move_result(&out[0], (ptrdiff_t)units[0] * (bytes));                                       \
    return next;                                                                                  \
  }
QK_SPLIT_WHERE(1)
QK_SPLIT_WHERE(2)
QK_SPLIT_WHERE(4)
QK_SPLIT_WHERE(8)
