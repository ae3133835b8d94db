/* How pools walk their windows, whatever they compute. */
#ifndef QK_POOL_WALK_H
#define QK_POOL_WALK_H
#include <stddef.h>

#include "kernels/common/inline.h"
#include "kernels/pool/pool.h"

/* The window of one position along one axis: tap t reads input at + t*step for first <= t < last;
 * `counted` taps are inside the padded input. */
typedef struct qk_pool_window {
  int32_t at, step, first, last, counted;
} qk_pool_window;

QK_INLINE qk_pool_window qk_pool_taps(const qk_pool_params* p, int axis, int32_t o) {
  qk_pool_window w;
  if (p->adaptive) {
    const int64_t in = p->valid[axis], out = p->out[axis];
    w.at = (int32_t)(o * in / out);
    w.step = 1;
    w.first = 0;
    w.last = w.counted = (int32_t)(((o + 1) * in + out - 1) / out) - w.at;
  } else {
    const int32_t d = p->dilation[axis], k = p->k[axis];
    w.at = o * p->stride[axis] - p->pad[axis];
    w.step = d;
    w.first = w.at >= 0 ? 0 : (-w.at + d - 1) / d;
    const int32_t room = p->valid[axis] - w.at, all = room + p->end[axis];
    w.last = room <= 0 ? 0 : (room + d - 1) / d;
    w.counted = all <= 0 ? 0 : (all + d - 1) / d;
    if (w.last > k) w.last = k;
    if (w.counted > k) w.counted = k;
    if (w.last < w.first) w.last = w.first;
  }
  return w;
}

/* Between QK_POOL_OUTPUTS and QK_POOL_END_OUTPUTS stands what is done for every output of a pool:
 * it lies at `at` and has the windows wd, wh, ww. In it, between QK_POOL_TAPS and QK_POOL_END_TAPS,
 * stands what is done for every tap: element x[i] at position (d, h, v) of its plane. */
#define QK_POOL_OUTPUTS(p)                                                 \
  const ptrdiff_t inputs = (ptrdiff_t)p->in[0] * p->in[1] * p->in[2];      \
  const ptrdiff_t outputs = (ptrdiff_t)p->out[0] * p->out[1] * p->out[2];  \
  const ptrdiff_t step = p->nhwc ? p->c : 1;                               \
  for (int32_t row = 0; row < p->n * p->c; ++row) {                        \
    const ptrdiff_t n = row / p->c, c = row % p->c;                        \
    const ptrdiff_t from = n * p->c * inputs + c * (p->nhwc ? 1 : inputs); \
    ptrdiff_t at = n * p->c * outputs + c * (p->nhwc ? 1 : outputs);       \
    for (int32_t od = 0; od < p->out[0]; ++od) {                           \
      const qk_pool_window wd = qk_pool_taps(p, 0, od);                    \
      for (int32_t oh = 0; oh < p->out[1]; ++oh) {                         \
        const qk_pool_window wh = qk_pool_taps(p, 1, oh);                  \
        for (int32_t ow = 0; ow < p->out[2]; ++ow, at += step) {           \
          const qk_pool_window ww = qk_pool_taps(p, 2, ow);
#define QK_POOL_END_OUTPUTS \
  }                         \
  }                         \
  }                         \
  }
#define QK_POOL_TAPS(p)                                                   \
  for (int32_t kd = wd.first; kd < wd.last; ++kd) {                       \
    for (int32_t kh = wh.first; kh < wh.last; ++kh) {                     \
      for (int32_t kw = ww.first; kw < ww.last; ++kw) {                   \
        const int32_t d = wd.at + kd * wd.step, h = wh.at + kh * wh.step; \
        const int32_t v = ww.at + kw * ww.step;                           \
        const ptrdiff_t i = from + (((ptrdiff_t)d * p->in[1] + h) * p->in[2] + v) * step;
#define QK_POOL_END_TAPS \
  }                      \
  }                      \
  }

/* What a mean divides by. */
QK_INLINE int32_t qk_pool_count(const qk_pool_params* p, qk_pool_window d, qk_pool_window h,
                                qk_pool_window w) {
  if (p->divisor != 0) return p->divisor;
  if (p->include) return d.counted * h.counted * w.counted;
  return (d.last - d.first) * (h.last - h.first) * (w.last - w.first);
}

#endif
