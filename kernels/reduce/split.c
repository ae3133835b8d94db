/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/reduce/operands.h"
#include "kernels/reduce/reduce.h"

#define QK_SPLIT_REDUCE(bytes)                                                                     \
  QK_INLINE int32_t qk_reduce_##bytes##_units(const qk_reduce_params* p) {                         \
    return qk_box_units(p->outer_rank, p->outer_dims);                                             \
  }                                                                                                \
  QK_INLINE int32_t qk_reduce_##bytes##_subrange(qk_reduce_params* p, const void** in, void** out, \
                                                 int32_t* units) {                                 \
    int32_t index[8];                                                                              \
    const int32_t next = qk_box_subrange(p->outer_rank, p->outer_dims, index, units);              \
    qk_move(&in[QK_REDUCE_IN_X],                                                                   \
            qk_box_position(p->outer_rank, index, p->outer_strides) * (bytes));                    \
    qk_move_result(&out[QK_REDUCE_OUT_Y], (ptrdiff_t)units[0] * (bytes));                          \
    return next;                                                                                   \
  }
QK_SPLIT_REDUCE(1)
QK_SPLIT_REDUCE(2)
QK_SPLIT_REDUCE(4)
QK_SPLIT_REDUCE(8)
