/* Windows of single results, for threads that compute some of them each. */
#ifndef QK_POOL_POSITION_H
#define QK_POOL_POSITION_H

#include "kernels/pool/walk.h"

/* Where result `at` of a pool, counted as results lie, finds its elements: x[from + i * step] for
 * element i of the plane. */
typedef struct qk_pool_position {
  int64_t from, step;
  qk_pool_window d, h, w;
} qk_pool_position;
/* Where tap t of a window that has some inside reads, or the nearest that is inside. */
QK_INLINE int32_t qk_pool_nearest(const qk_pool_window* w, int32_t t) {
  const int32_t from = t < w->first ? w->first : t;
  return w->at + (from < w->last ? from : w->last - 1) * w->step;
}
QK_INLINE qk_pool_position qk_pool_position_of(const qk_pool_params* p, int64_t at) {
  const int64_t points = (int64_t)p->out[0] * p->out[1] * p->out[2];
  const int64_t inputs = (int64_t)p->in[0] * p->in[1] * p->in[2];
  const int64_t point = p->nhwc ? at / p->c % points : at % points;
  const int64_t c = p->nhwc ? at % p->c : at / points % p->c;
  const int64_t line = point / p->out[2];
  qk_pool_position position;
  position.from = at / points / p->c * p->c * inputs + (p->nhwc ? c : c * inputs);
  position.step = p->nhwc ? p->c : 1;
  position.d = qk_pool_taps(p, 0, (int32_t)(line / p->out[1]));
  position.h = qk_pool_taps(p, 1, (int32_t)(line % p->out[1]));
  position.w = qk_pool_taps(p, 2, (int32_t)(point % p->out[2]));
  return position;
}

#endif
