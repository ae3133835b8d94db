/* Splits that kernels share: by elements, by rows, by elements of a box. */
#ifndef QK_SPLIT_H
#define QK_SPLIT_H

#include "kernels/common/units.h"

/* Moves a result on, where there is one. */
QK_INLINE void qk_move_optional(void** at, ptrdiff_t bytes) {
  if (*at) *at = (uint8_t*)*at + bytes;
}

/* `n` elements, each a unit; x and y move on by so many bytes with each. */
#define QK_SPLIT_ELEMENTS(prefix, PARAMS, X, Y)                                             \
  QK_INLINE int32_t prefix##_units(const PARAMS* p) { return p->n; }                        \
  QK_INLINE int32_t prefix##_part(PARAMS* p, const void** in, void** out, int32_t* units) { \
    p->n = units[1] - units[0];                                                             \
    qk_move(&in[0], (ptrdiff_t)units[0] * (X));                                             \
    qk_move_result(&out[0], (ptrdiff_t)units[0] * (Y));                                     \
    return units[1];                                                                        \
  }

/* The outermost axis, `outer`; x and y move on by so many bytes (of p) with each. */
#define QK_SPLIT_OUTER(prefix, PARAMS, X, Y)                                                \
  QK_INLINE int32_t prefix##_units(const PARAMS* p) { return p->outer; }                    \
  QK_INLINE int32_t prefix##_part(PARAMS* p, const void** in, void** out, int32_t* units) { \
    p->outer = units[1] - units[0];                                                         \
    qk_move(&in[0], (ptrdiff_t)units[0] * (X));                                             \
    qk_move_result(&out[0], (ptrdiff_t)units[0] * (Y));                                     \
    return units[1];                                                                        \
  }

QK_INLINE int32_t qk_box_units(int32_t rank, const int32_t* dims) {
  int32_t units = 1;
  for (int32_t i = 0; i < rank; ++i) units *= dims[i];
  return units;
}
/* Makes of a box one of its first elements from units[0] on that lie along the last axis; returns
 * the next one. */
QK_INLINE int32_t qk_box_part(int32_t rank, int32_t* dims, int32_t* index, const int32_t* units) {
  int32_t rest = units[0], count = units[1] - units[0];
  for (int32_t i = rank; i-- > 0;) {
    index[i] = rest % dims[i];
    rest /= dims[i];
    if (i == rank - 1 && count > dims[i] - index[i]) count = dims[i] - index[i];
    dims[i] = i == rank - 1 ? count : 1;
  }
  return units[0] + count;
}
QK_INLINE ptrdiff_t qk_box_place(int32_t rank, const int32_t* index, const int32_t* strides) {
  ptrdiff_t at = 0;
  for (int32_t i = 0; i < rank; ++i) at += (ptrdiff_t)index[i] * strides[i];
  return at;
}

/* Two operands that are broadcast: strides `a` and `b` over `dims`, elements of A, B and Y bytes.
 */
#define QK_SPLIT_BROADCAST2(prefix, PARAMS, A, B, Y)                                           \
  QK_INLINE int32_t prefix##_units(const PARAMS* p) { return qk_box_units(p->rank, p->dims); } \
  QK_INLINE int32_t prefix##_part(PARAMS* p, const void** in, void** out, int32_t* units) {    \
    int32_t index[8];                                                                          \
    const int32_t next = qk_box_part(p->rank, p->dims, index, units);                          \
    qk_move(&in[0], qk_box_place(p->rank, index, p->a) * (A));                                 \
    qk_move(&in[1], qk_box_place(p->rank, index, p->b) * (B));                                 \
    qk_move_result(&out[0], (ptrdiff_t)units[0] * (Y));                                        \
    return next;                                                                               \
  }

#endif
