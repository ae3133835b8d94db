/* Splits that kernels share: by elements, by rows, by elements of a box. x, left, right and y are
 * where operands and the result stand (FOLDER/operands.h), X, A, B and Y how many bytes they move.
 */
#ifndef QK_SPLIT_H
#define QK_SPLIT_H

#include "kernels/common/units.h"
#include "kernels/common/unroll.h"

/* Moves a result on, where there is one. */
QK_INLINE void qk_move_optional(void** at, ptrdiff_t bytes) {
  if (*at) *at = (uint8_t*)*at + bytes;
}

/* Elements of X bytes that lie side by side, and results of Y (kernels/common/vectors.h). */
#define QK_SPANS_ELEMENTS(prefix, PARAMS, x, X, y, Y)                                              \
  QK_INLINE int32_t prefix##_advance(const PARAMS* p, int32_t first, const void** in,              \
                                     void** out) {                                                 \
    qk_move(&in[x], (ptrdiff_t)first*(X));                                                         \
    qk_move_result(&out[y], (ptrdiff_t)first*(Y));                                                 \
    return p->n - first;                                                                           \
  }                                                                                                \
  QK_INLINE int32_t prefix##_spans(const PARAMS* p, PARAMS* one, int32_t* bytes, int32_t* steps) { \
    (void)p;                                                                                       \
    one->n = 1;                                                                                    \
    bytes[x] = (X);                                                                                \
    steps[x] = 1;                                                                                  \
    return (Y);                                                                                    \
  }
/* `n` elements, each a unit; x and y move on by so many bytes with each. */
#define QK_SPLIT_ELEMENTS(prefix, PARAMS, x, X, y, Y)                                           \
  QK_SPANS_ELEMENTS(prefix, PARAMS, x, X, y, Y)                                                 \
  QK_INLINE int32_t prefix##_units(const PARAMS* p) { return p->n; }                            \
  QK_INLINE int32_t prefix##_subrange(PARAMS* p, const void** in, void** out, int32_t* units) { \
    (void)prefix##_advance(p, units[0], in, out);                                               \
    p->n = units[1] - units[0];                                                                 \
    return units[1];                                                                            \
  }

/* The outermost axis, `outer`; x and y move on by so many bytes (of p) with each. */
#define QK_SPLIT_OUTER(prefix, PARAMS, x, X, y, Y)                                              \
  QK_INLINE int32_t prefix##_units(const PARAMS* p) { return p->outer; }                        \
  QK_INLINE int32_t prefix##_subrange(PARAMS* p, const void** in, void** out, int32_t* units) { \
    p->outer = units[1] - units[0];                                                             \
    qk_move(&in[x], (ptrdiff_t)units[0] * (X));                                                 \
    qk_move_result(&out[y], (ptrdiff_t)units[0] * (Y));                                         \
    return units[1];                                                                            \
  }

QK_INLINE int32_t qk_box_units(int32_t rank, const int32_t* dims) {
  int32_t units = 1;
  for (int32_t i = 0; i < rank; ++i) units *= dims[i];
  return units;
}
/* Makes of a box one of its first elements from units[0] on that lie along the last axis; returns
 * the next one. */
QK_INLINE int32_t qk_box_subrange(int32_t rank, int32_t* dims, int32_t* index,
                                  const int32_t* units) {
  int32_t rest = units[0], count = units[1] - units[0];
  for (int32_t i = rank; i-- > 0;) {
    index[i] = rest % dims[i];
    rest /= dims[i];
    if (i == rank - 1 && count > dims[i] - index[i]) count = dims[i] - index[i];
    dims[i] = i == rank - 1 ? count : 1;
  }
  return units[0] + count;
}
QK_INLINE ptrdiff_t qk_box_position(int32_t rank, const int32_t* index, const int32_t* strides) {
  ptrdiff_t at = 0;
  for (int32_t i = 0; i < rank; ++i) at += (ptrdiff_t)index[i] * strides[i];
  return at;
}

/* Where an element of a box is in an array with these strides. This and the next ones go over all
 * axes that a box may have, and write no arrays: on a device everything then is in registers. */
QK_INLINE ptrdiff_t qk_box_at(int32_t rank, const int32_t* dims, const int32_t* strides,
                              int32_t element) {
  ptrdiff_t at = 0;
  QK_EACH_ON_GPU
  for (int32_t i = 7; i >= 0; --i) {
    if (i >= rank) continue;
    at += (ptrdiff_t)(element % dims[i]) * strides[i];
    element /= dims[i];
  }
  return at;
}
/* The stride of the last axis, found so that arrays stay in registers. */
QK_INLINE int32_t qk_box_last(int32_t rank, const int32_t* strides) {
  int32_t last = 0;
  QK_EACH_ON_GPU
  for (int32_t i = 0; i < 8; ++i) last = i == rank - 1 ? strides[i] : last;
  return last;
}

/* How many elements from this one on lie along the last axis. */
QK_INLINE int32_t qk_box_left(int32_t rank, const int32_t* dims, int32_t element) {
  const int32_t n = qk_box_last(rank, dims);
  return n - element % n;
}
/* Makes of a box one of so many elements along the last axis. */
QK_INLINE void qk_box_row(int32_t rank, int32_t* dims, int32_t count) {
  for (int32_t i = 0; i < rank; ++i) dims[i] = i == rank - 1 ? count : 1;
}

/* What splits of broadcast operands have beside NAME_advance. */
#define QK_SPLIT_BROADCAST(prefix, PARAMS)                                                      \
  QK_INLINE int32_t prefix##_units(const PARAMS* p) { return qk_box_units(p->rank, p->dims); }  \
  QK_INLINE int32_t prefix##_subrange(PARAMS* p, const void** in, void** out, int32_t* units) { \
    const int32_t left = prefix##_advance(p, units[0], in, out), count = units[1] - units[0];   \
    qk_box_row(p->rank, p->dims, count < left ? count : left);                                  \
    return units[0] + (count < left ? count : left);                                            \
  }
/* Two operands that are broadcast: strides p->a and p->b over `dims`, elements of A, B and Y
 * bytes. */
#define QK_SPLIT_BROADCAST2(prefix, PARAMS, left, A, right, B, y, Y)                  \
  QK_INLINE int32_t prefix##_advance(const PARAMS* p, int32_t first, const void** in, \
                                     void** out) {                                    \
    qk_move(&in[left], qk_box_at(p->rank, p->dims, p->a, first) * (A));               \
    qk_move(&in[right], qk_box_at(p->rank, p->dims, p->b, first) * (B));              \
    qk_move_result(&out[y], (ptrdiff_t)first*(Y));                                    \
    return qk_box_left(p->rank, p->dims, first);                                      \
  }                                                                                   \
  QK_SPANS_BROADCAST2(prefix, PARAMS, left, A, right, B, Y) QK_SPLIT_BROADCAST(prefix, PARAMS)
#define QK_SPANS_BROADCAST2(prefix, PARAMS, left, A, right, B, Y)                                  \
  QK_INLINE int32_t prefix##_spans(const PARAMS* p, PARAMS* one, int32_t* bytes, int32_t* steps) { \
    one->rank = one->dims[0] = 1;                                                                  \
    bytes[left] = (A);                                                                             \
    bytes[right] = (B);                                                                            \
    steps[left] = qk_box_last(p->rank, p->a);                                                      \
    steps[right] = qk_box_last(p->rank, p->b);                                                     \
    return (Y);                                                                                    \
  }

#endif
