/* A unit is a row, of grouped channels all groups of an image; of a scale and shift, a channel. */
#include "kernels/common/split.h"

#include "kernels/norm/norm.h"
#include "kernels/norm/operands.h"

/* Elements and statistics have so many bytes. */
QK_INLINE int32_t qk_norm_subrange(qk_norm_params* p, const void** in, void** out,
                                   const int32_t* units, ptrdiff_t bytes, ptrdiff_t statistic) {
  const ptrdiff_t first = (ptrdiff_t)units[0] * p->groups;
  p->rows = (units[1] - units[0]) * p->groups;
  (void)in;
  p->first += (int32_t)first;
  qk_move_result(&out[QK_NORM_OUT_Y], first * p->n * bytes);
  qk_move_optional(&out[QK_NORM_OUT_MEAN], first * statistic);
  qk_move_optional(&out[QK_NORM_OUT_RSTD], first * statistic);
  return units[1];
}
QK_INLINE int32_t qk_scale_shift_subrange(qk_scale_shift_params* p, const void** in, void** out,
                                          const int32_t* units, ptrdiff_t bytes) {
  const qk_items r = qk_items_of(units, p->channels, 1);
  const ptrdiff_t from = ((ptrdiff_t)r.batch * p->channels + r.first) * p->inner * bytes;
  qk_move(&in[QK_SCALE_SHIFT_IN_X], from);
  qk_move(&in[QK_SCALE_SHIFT_IN_SCALE], r.first * bytes);
  qk_move(&in[QK_SCALE_SHIFT_IN_SHIFT], r.first * bytes);
  qk_move_result(&out[QK_SCALE_SHIFT_OUT_Y], from);
  p->outer = 1;
  p->channels = r.count;
  return r.next;
}

#define QK_SPLIT_NORM(type, S, T)                                                             \
  QK_INLINE int32_t qk_norm_##type##_units(const qk_norm_params* p) {                         \
    return p->rows / p->groups;                                                               \
  }                                                                                           \
  QK_INLINE int32_t qk_norm_##type##_subrange(qk_norm_params* p, const void** in, void** out, \
                                              int32_t* units) {                               \
    return qk_norm_subrange(p, in, out, units, S, T);                                         \
  }
#define QK_SPLIT_SCALE_SHIFT(type, S)                                                           \
  QK_INLINE int32_t qk_scale_shift_##type##_units(const qk_scale_shift_params* p) {             \
    return p->outer * p->channels;                                                              \
  }                                                                                             \
  QK_INLINE int32_t qk_scale_shift_##type##_subrange(qk_scale_shift_params* p, const void** in, \
                                                     void** out, int32_t* units) {              \
    return qk_scale_shift_subrange(p, in, out, units, S);                                       \
  }
QK_SPLIT_NORM(f32, 4, 4)
QK_SPLIT_NORM(f64, 8, 8)
QK_SPLIT_NORM(f16, 2, 4)
QK_SPLIT_NORM(bf16, 2, 4)
QK_SPLIT_SCALE_SHIFT(f32, 4)
QK_SPLIT_SCALE_SHIFT(f64, 8)
QK_SPLIT_SCALE_SHIFT(f16, 2)
QK_SPLIT_SCALE_SHIFT(bf16, 2)

#define QK_SPLIT_LRN(bytes)                                                 \
  QK_SPLIT_OUTER(qk_lrn_##bytes, qk_lrn_params, QK_LRN_IN_X,                \
                 (ptrdiff_t)p->channels * p->inner * (bytes), QK_LRN_OUT_Y, \
                 (ptrdiff_t)p->channels * p->inner * (bytes))
QK_SPLIT_LRN(2)
QK_SPLIT_LRN(4)
QK_SPLIT_LRN(8)
