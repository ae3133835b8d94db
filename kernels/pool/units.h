/* Calls of pools in parts, for float and integer ones alike. */
#ifndef QK_POOL_UNITS_H
#define QK_POOL_UNITS_H

#include "kernels/common/split.h"

/* What of a pool's parameters says where its windows lie. */
typedef struct qk_pool_box {
  int32_t *n, *c, *out, *pad;
  const int32_t *in, *stride;
  int32_t nhwc, adaptive;
} qk_pool_box;

QK_INLINE ptrdiff_t qk_pool_volume(const int32_t* sizes) {
  return (ptrdiff_t)sizes[0] * sizes[1] * sizes[2];
}

/* Units are planes, or channels-last all channels of an image, and of a point where windows do not
 * depend on how many there are. */
QK_INLINE int32_t qk_pool_units(qk_pool_box p) {
  if (!p.nhwc) return *p.n * *p.c;
  return *p.n * (p.adaptive ? 1 : (int32_t)qk_pool_volume(p.out));
}
/* Narrows a call to a range of units; x and y are the elements by which input and result advance.
 */
QK_INLINE int32_t qk_pool_subrange(qk_pool_box p, const int32_t* units, ptrdiff_t* x,
                                   ptrdiff_t* y) {
  const ptrdiff_t inputs = qk_pool_volume(p.in), outputs = qk_pool_volume(p.out);
  const int32_t first = units[0], count = units[1] - units[0];
  if (!p.nhwc || p.adaptive) {
    const ptrdiff_t at = (ptrdiff_t)first * (p.nhwc ? *p.c : 1);
    *x = at * inputs;
    *y = at * outputs;
    *p.n = p.nhwc ? count : 1;
    *p.c = p.nhwc ? *p.c : count;
    return units[1];
  }
  *x = first / outputs * inputs * *p.c;
  *y = (ptrdiff_t)first * *p.c;
  *p.n = 1;
  int32_t rest = (int32_t)(first % outputs);
  for (int32_t i = 3; i-- > 0;) {
    p.pad[i] -= rest % p.out[i] * p.stride[i];
    rest /= p.out[i];
    p.out[i] = 1;
  }
  return first + 1;
}

#define QK_POOL_BOX(p) \
  { &(p)->n, &(p)->c, (p)->out, (p)->pad, (p)->in, (p)->stride, (p)->nhwc, (p)->adaptive }

/* x and y are where operand and result stand (FOLDER/operands.h), of elements of X and Y bytes. */
#define QK_SPLIT_POOL(prefix, PARAMS, x, X, y, Y)                                               \
  QK_INLINE int32_t prefix##_units(const PARAMS* p) {                                           \
    PARAMS own = *p;                                                                            \
    const qk_pool_box box = QK_POOL_BOX(&own);                                                  \
    return qk_pool_units(box);                                                                  \
  }                                                                                             \
  QK_INLINE int32_t prefix##_subrange(PARAMS* p, const void** in, void** out, int32_t* units) { \
    const qk_pool_box box = QK_POOL_BOX(p);                                                     \
    ptrdiff_t from, to;                                                                         \
    const int32_t next = qk_pool_subrange(box, units, &from, &to);                              \
    qk_move(&in[x], from*(X));                                                                  \
    qk_move_result(&out[y], to*(Y));                                                            \
    return next;                                                                                \
  }

#endif
