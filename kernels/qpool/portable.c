#include "kernels/common/codes.h"
#include "kernels/qpool/mean.h"

#define QK_DEFINE_QAVG_POOL(name, SUM, TERM, RESULT)                      \
  QK_INLINE void name(const qk_qpool_params* q, const void* x, void* y) { \
    const qk_pool_params window = qk_qpool_window(q), *const p = &window; \
    QK_POOL_OUTPUTS(p)                                                    \
    SUM sum = 0;                                                          \
    QK_POOL_TAPS(p)                                                       \
    const int32_t e = qk_load_code(x, q->type_x, i);                      \
    sum += (TERM);                                                        \
    QK_POOL_END_TAPS                                                      \
    const int32_t count = qk_pool_count(p, wd, wh, ww);                   \
    qk_store_code(y, q->type_y, at, RESULT);                              \
    QK_POOL_END_OUTPUTS                                                   \
  }
QK_DEFINE_QAVG_POOL(qk_qavg_pool_each, int32_t, QK_QAVG_OFFSET, QK_QAVG_EXACT)
QK_DEFINE_QAVG_POOL(qk_qavg_pool_wide, int64_t, QK_QAVG_OFFSET, QK_QAVG_EXACT)
QK_DEFINE_QAVG_POOL(qk_qavg_pool_ort, float, QK_QAVG_DECODED, QK_QAVG_ORT)
QK_DEFINE_QAVG_POOL(qk_qavg_pool_f32, float, QK_QAVG_DECODED, QK_QAVG_F32)
QK_DEFINE_QAVG_POOL(qk_qavg_pool_q31, int64_t, QK_QAVG_OFFSET, QK_QAVG_Q31)

/* ---- channels-last codes of 8 bits, sixteen channels at once ---- */

QK_INLINE void qk_qavg_pool_nhwc(const qk_qpool_params* q, const uint8_t* x, uint8_t* y) {
  const qk_pool_params window = qk_qpool_window(q), *const p = &window;
  for (int32_t row = 0; row < p->n * p->out[0] * p->out[1]; ++row) {
    const ptrdiff_t n = row / p->out[1] / p->out[0];
    const qk_pool_window wd = qk_pool_taps(p, 0, row / p->out[1] % p->out[0]);
    const qk_pool_window wh = qk_pool_taps(p, 1, row % p->out[1]);
    for (int32_t ow = 0; ow < p->out[2]; ++ow, y += p->c) {
      const qk_pool_window ww = qk_pool_taps(p, 2, ow);
      const float multiplier = qn_mean_multiplier(qk_pool_count(p, wd, wh, ww), q->sx, q->sy);
      for (int32_t c = 0; c < p->c; c += 16) {
        const int32_t lanes = p->c - c < 16 ? p->c - c : 16;
        int32_t sums[16] = {0};
        for (int32_t kd = wd.first; kd < wd.last; ++kd) {
          for (int32_t kh = wh.first; kh < wh.last; ++kh) {
            for (int32_t kw = ww.first; kw < ww.last; ++kw) {
              const ptrdiff_t d = n * p->in[0] + wd.at + kd * wd.step;
              const ptrdiff_t h = d * p->in[1] + wh.at + kh * wh.step;
              const uint8_t* e = x + (h * p->in[2] + ww.at + kw * ww.step) * p->c + c;
              qk_add_codes(sums, e, q->type_x, q->zx, lanes);
            }
          }
        }
        for (int j = 0; j < 16; ++j) {
          sums[j] = qn_rescale(sums[j], multiplier, q->zero, q->lo, q->hi);
        }
        qk_store_bytes(y + c, sums, lanes);
      }
    }
  }
}

QK_INLINE void qk_qavg_pool(const qk_qpool_params* q, const void* x, void* y) {
  if (q->nhwc && q->type_x <= QK_U8 && q->type_y <= QK_U8) {
    qk_qavg_pool_nhwc(q, (const uint8_t*)x, (uint8_t*)y);
  } else {
    qk_qavg_pool_each(q, x, y);
  }
}
