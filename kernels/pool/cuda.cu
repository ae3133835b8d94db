/* One unit is one output of one channel. */
#include "kernels/common/cuda.h"
#include "kernels/numerics/base.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/walk.h"

#define QK_POOL_LARGER(a, b) ((a) > (b) ? (a) : (b))

#define QK_DEFINE_MAX_POOL_UNIT(t, T, MAX, LOWEST)                                         \
  QK_UNIT int64_t qk_max_pool_cuda_##t##_units(const qk_pool_params* p) {                  \
    return (int64_t)p->n * p->c * p->out[0] * p->out[1] * p->out[2];                       \
  }                                                                                        \
  QK_UNIT void qk_max_pool_cuda_##t(const qk_pool_params* p, int64_t unit, const void* x,  \
                                    void* y) {                                             \
    const int64_t points = (int64_t)p->out[0] * p->out[1] * p->out[2];                     \
    const int64_t inputs = (int64_t)p->in[0] * p->in[1] * p->in[2];                        \
    const int64_t point = p->last ? unit / p->c % points : unit % points;                  \
    const int64_t c = p->last ? unit % p->c : unit / points % p->c;                        \
    const int64_t n = unit / points / p->c, stride = p->last ? p->c : 1;                   \
    const int64_t from = n * p->c * inputs + (p->last ? c : c * inputs);                   \
    const int64_t line = point / p->out[2];                                                \
    const qk_pool_window wd = qk_pool_taps(p, 0, (int32_t)(line / p->out[1]));             \
    const qk_pool_window wh = qk_pool_taps(p, 1, (int32_t)(line % p->out[1]));             \
    const qk_pool_window ww = qk_pool_taps(p, 2, (int32_t)(point % p->out[2]));            \
    T best = LOWEST;                                                                       \
    int some = 0;                                                                          \
    for (int32_t kd = wd.first; kd < wd.last; ++kd) {                                      \
      for (int32_t kh = wh.first; kh < wh.last; ++kh) {                                    \
        for (int32_t kw = ww.first; kw < ww.last; ++kw) {                                  \
          const int64_t d = wd.at + kd * wd.step, h = d * p->in[1] + wh.at + kh * wh.step; \
          const int64_t v = h * p->in[2] + ww.at + kw * ww.step;                           \
          const T e = ((const T*)x)[from + v * stride];                                    \
          best = some ? MAX(e, best) : e;                                                  \
          some = 1;                                                                        \
        }                                                                                  \
      }                                                                                    \
    }                                                                                      \
    ((T*)y)[unit] = best;                                                                  \
  }
QK_DEFINE_MAX_POOL_UNIT(f32, float, qn_max_f32, -QN_INF_F32)
QK_DEFINE_MAX_POOL_UNIT(i8, int8_t, QK_POOL_LARGER, INT8_MIN)
QK_DEFINE_MAX_POOL_UNIT(u8, uint8_t, QK_POOL_LARGER, 0)
QK_DEFINE_MAX_POOL_UNIT(i16, int16_t, QK_POOL_LARGER, INT16_MIN)
QK_DEFINE_MAX_POOL_UNIT(u16, uint16_t, QK_POOL_LARGER, 0)
