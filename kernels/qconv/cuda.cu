/* One unit is one output of one channel; weights as the model has them, [oc, ic/groups, k...]. */
#include "kernels/common/cuda.h"
#include "kernels/conv/taps.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qgemm/output.h"

/* An output: its image, channel and position. */
typedef struct qk_qconv_place {
  int64_t n;
  int32_t channel, at[3];
} qk_qconv_place;

QK_UNIT qk_qconv_place qk_qconv_place_of(const qk_qconv_params* p, int64_t unit) {
  qk_qconv_place o;
  const int64_t points = (int64_t)p->out[0] * p->out[1] * p->out[2];
  const int64_t row = p->last ? unit / p->oc : unit / points / p->oc * points + unit % points;
  const int64_t point = row % points;
  o.n = row / points;
  o.channel = (int32_t)(p->last ? unit % p->oc : unit / points % p->oc);
  o.at[0] = (int32_t)(point / ((int64_t)p->out[1] * p->out[2]));
  o.at[1] = (int32_t)(point / p->out[2] % p->out[1]);
  o.at[2] = (int32_t)(point % p->out[2]);
  return o;
}

/* U is S without a sign: sums wrap on the way, the complete ones fit. */
#define QK_DEFINE_QCONV_UNIT(suffix, W, S, U)                                                     \
  QK_UNIT int64_t qk_qconv_cuda_##suffix##_units(const qk_qconv_params* p) {                      \
    return (int64_t)p->n * p->oc * p->out[0] * p->out[1] * p->out[2];                             \
  }                                                                                               \
  QK_UNIT void qk_qconv_cuda_##suffix(                                                            \
      const qk_qconv_params* p, int64_t unit, const void* x, const void* w, const void* bias,     \
      const void* multipliers, const void* float_bias, const void* w_zeros, const void* x_scales, \
      const void* x_zeros, const void* residual, void* y) {                                       \
    const qk_q_output to =                                                                        \
        QK_Q_OUTPUT(p, multipliers, (const float*)float_bias, x_scales != 0, residual);           \
    const qk_qconv_place o = qk_qconv_place_of(p, unit);                                          \
    const int32_t icg = p->ic / p->groups, ocg = p->oc / p->groups, group = o.channel / ocg;      \
    const int64_t volume = (int64_t)p->in[0] * p->in[1] * p->in[2];                               \
    const int64_t taps = (int64_t)p->k[0] * p->k[1] * p->k[2];                                    \
    const int64_t point_stride = p->last ? p->ic : 1, channel_stride = p->last ? 1 : volume;      \
    const int64_t from = o.n * p->ic * volume + (int64_t)group * icg * channel_stride;            \
    const W* wo = (const W*)w + o.channel * icg * taps;                                           \
    const S zero = x_zeros ? *(const int32_t*)x_zeros : p->x_zero;                                \
    const S w_zero = w_zeros ? ((const int32_t*)w_zeros)[o.channel] : 0;                          \
    U sum = bias ? (U)((const S*)bias)[o.channel] : 0;                                            \
    int32_t first[3], last[3], at[3];                                                             \
    for (int a = 0; a < 3; ++a) {                                                                 \
      at[a] = o.at[a] * p->stride[a] - p->pad[a];                                                 \
      qk_taps(at[a], p->dilation[a], p->k[a], p->in[a], &first[a], &last[a]);                     \
    }                                                                                             \
    for (int32_t d = first[0]; d < last[0]; ++d) {                                                \
      for (int32_t h = first[1]; h < last[1]; ++h) {                                              \
        for (int32_t v = first[2]; v < last[2]; ++v) {                                            \
          const int64_t plane = at[0] + d * p->dilation[0];                                       \
          const int64_t line = plane * p->in[1] + at[1] + h * p->dilation[1];                     \
          const int64_t point = line * p->in[2] + at[2] + v * p->dilation[2];                     \
          const int64_t tap = ((int64_t)d * p->k[1] + h) * p->k[2] + v;                           \
          for (int32_t i = 0; i < icg; ++i) {                                                     \
            const int64_t e = from + point * point_stride + i * channel_stride;                   \
            const S code = qk_load_code(x, p->x_type, (ptrdiff_t)e);                              \
            sum += (U)(code - zero) * (U)(wo[i * taps + tap] - w_zero);                           \
          }                                                                                       \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
    qk_q_store(&to, (int64_t)(S)sum, o.channel, x_scales ? *(const float*)x_scales : 1.0f, y,     \
               (ptrdiff_t)unit);                                                                  \
  }
QK_DEFINE_QCONV_UNIT(i8_i32, int8_t, int32_t, uint32_t)
QK_DEFINE_QCONV_UNIT(i8_i64, int8_t, int64_t, uint64_t)
QK_DEFINE_QCONV_UNIT(i16_i64, int16_t, int64_t, uint64_t)
