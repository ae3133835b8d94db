/* A unit is one index of one outer run. */
#include "kernels/common/split.h"

#include "kernels/gather/gather.h"
#include "kernels/gather/operands.h"

#define QK_SPLIT_GATHER(index, bytes)                                                              \
  QK_INLINE int32_t qk_gather_##index##_units(const qk_gather_params* p) {                         \
    return p->outer * p->count;                                                                    \
  }                                                                                                \
  QK_INLINE int32_t qk_gather_##index##_subrange(qk_gather_params* p, const void** in, void** out, \
                                                 int32_t* units) {                                 \
    const qk_items r = qk_items_of(units, p->count, 1);                                            \
    qk_move(&in[QK_GATHER_IN_X], (ptrdiff_t)r.batch * p->size * p->block);                         \
    qk_move(&in[QK_GATHER_IN_INDICES], (ptrdiff_t)r.first*(bytes));                                \
    qk_move_result(&out[QK_GATHER_OUT_Y], ((ptrdiff_t)r.batch * p->count + r.first) * p->block);   \
    p->outer = 1;                                                                                  \
    p->count = r.count;                                                                            \
    return r.next;                                                                                 \
  }
QK_SPLIT_GATHER(i64, 8)
QK_SPLIT_GATHER(i32, 4)

#define QK_SPLIT_GATHER_ELEMENTS(index, bytes)                                               \
  QK_INLINE int32_t qk_gather_elements_##index##_units(const qk_gather_elements_params* p) { \
    return qk_box_units(8, p->dims);                                                         \
  }                                                                                          \
  QK_INLINE int32_t qk_gather_elements_##index##_subrange(                                   \
      qk_gather_elements_params* p, const void** in, void** out, const int32_t* units) {     \
    int32_t at[8];                                                                           \
    const int32_t next = qk_box_subrange(8, p->dims, at, units);                             \
    qk_move(&in[QK_GATHER_ELEMENTS_IN_X], qk_box_position(8, at, p->xs) * p->block);         \
    qk_move(&in[QK_GATHER_ELEMENTS_IN_INDICES], (ptrdiff_t)units[0] * (bytes));              \
    qk_move_result(&out[QK_GATHER_ELEMENTS_OUT_Y], (ptrdiff_t)units[0] * p->block);          \
    return next;                                                                             \
  }
QK_SPLIT_GATHER_ELEMENTS(i64, 8)
QK_SPLIT_GATHER_ELEMENTS(i32, 4)

#define QK_SPLIT_GATHER_ND(index, bytes)                                                     \
  QK_INLINE int32_t qk_gather_nd_##index##_units(const qk_gather_nd_params* p) {             \
    return p->batch * p->rows;                                                               \
  }                                                                                          \
  QK_INLINE int32_t qk_gather_nd_##index##_subrange(qk_gather_nd_params* p, const void** in, \
                                                    void** out, const int32_t* units) {      \
    const qk_items r = qk_items_of(units, p->rows, 1);                                       \
    qk_move(&in[QK_GATHER_ND_IN_X], (ptrdiff_t)r.batch * p->inner * p->block);               \
    qk_move(&in[QK_GATHER_ND_IN_INDICES], (ptrdiff_t)units[0] * p->depth * (bytes));         \
    qk_move_result(&out[QK_GATHER_ND_OUT_Y], (ptrdiff_t)units[0] * p->block);                \
    p->batch = 1;                                                                            \
    p->rows = r.count;                                                                       \
    return r.next;                                                                           \
  }
QK_SPLIT_GATHER_ND(i64, 8)
QK_SPLIT_GATHER_ND(i32, 4)
