/* One unit is one output of one channel, or where that can be of codes of 8 bits the outputs of
 * sixteen neighbouring columns (kernels/pool/strip.h), or of sixteen channels of a point. */
#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/cuda.h"
#include "kernels/pool/place.h"
#include "kernels/pool/strip.h"
#include "kernels/qpool/mean.h"

/* Sums of a row of the input, column by column; what is outside adds nothing. */
QK_UNIT void qk_qavg_add_row(const qk_qpool_params* q, const qk_pool_params* p, int32_t column,
                             const uint32_t* words, int32_t* sums) {
  QK_EACH_ON_GPU
  for (int i = 0; i < QK_STRIP_COLUMNS; ++i) {
    const uint8_t byte = qk_strip_byte(words, i);
    const int side = i < QK_STRIP_SIDE || i >= QK_STRIP + QK_STRIP_SIDE;
    const int32_t e = q->type_x == QK_I8 ? (int8_t)byte : byte;
    if (!side || qk_strip_inside(p, column, i)) sums[i] += e - q->zx;
  }
}
/* The means of a strip: exact sums, so their order makes no difference. */
QK_UNIT void qk_qavg_strip(const qk_qpool_params* q, const qk_pool_params* p, int64_t unit,
                           const uint8_t* x, uint8_t* y) {
  const qk_pool_strip s = qk_pool_strip_at(p, unit);
  const int aligned = (uintptr_t)x % 16 == 0;
  const int32_t stride = p->stride[2], outputs = QK_STRIP / stride;
  int32_t sums[QK_STRIP_COLUMNS] = {0}, counted = 0;
  uint32_t results[4] = {0};
  float multiplier = 0.0f;
  for (int32_t kd = s.d.first; kd < s.d.last; ++kd) {
    const int64_t d = s.plane * p->in[0] + s.d.at + kd * s.d.step;
    QK_EACH_ON_GPU
    for (int32_t kh = 0; kh < p->k[1]; ++kh) {
      const int64_t h = d * p->in[1] + s.h.at + kh * s.h.step;
      uint32_t words[QK_STRIP_COLUMNS / 4];
      if (kh < s.h.first || kh >= s.h.last) continue;
      qk_strip_row(p, x + h * p->in[2] + s.column, s.column, aligned, words);
      qk_qavg_add_row(q, p, s.column, words, sums);
    }
  }
  QK_EACH_ON_GPU
  for (int o = 0; o < QK_STRIP; ++o) {
    if (o >= outputs) continue;
    const qk_pool_window w = qk_pool_taps(p, 2, s.column / stride + o);
    const int32_t count = qk_pool_count(p, s.d, s.h, w);
    int32_t sum = 0;
    QK_EACH_ON_GPU
    for (int i = 0; i < QK_STRIP_COLUMNS; ++i) {
      const int32_t tap = i - QK_STRIP_SIDE - o * stride + p->pad[2], step = p->dilation[2];
      if (tap >= 0 && tap % step == 0 && tap / step < p->k[2]) sum += sums[i];
    }
    if (o == 0 || count != counted) multiplier = qn_mean_multiplier(count, q->sx, q->sy);
    counted = count;
    const int32_t code = qn_rescale(sum, multiplier, q->zero, q->lo, q->hi);
    results[o / 4] |= (uint32_t)(uint8_t)code << 8 * (o % 4);
  }
  qk_strip_put(y + s.at, results, outputs);
}
/* The means of sixteen channels of a point that follow each other. */
#define QK_QAVG_CHANNELS 16
QK_UNIT void qk_qavg_channels(const qk_qpool_params* q, const qk_pool_params* p, int64_t unit,
                              const uint8_t* x, uint8_t* y) {
  const qk_pool_place place = qk_pool_place_of(p, unit * QK_QAVG_CHANNELS);
  const qk_pool_window wd = place.d, wh = place.h, ww = place.w;
  const int aligned = (uintptr_t)x % QK_QAVG_CHANNELS == 0;
  const float multiplier = qn_mean_multiplier(qk_pool_count(p, wd, wh, ww), q->sx, q->sy);
  int32_t sums[QK_QAVG_CHANNELS] = {0};
  uint32_t results[QK_QAVG_CHANNELS / 4] = {0};
  for (int32_t kd = wd.first; kd < wd.last; ++kd) {
    for (int32_t kh = wh.first; kh < wh.last; ++kh) {
      for (int32_t kw = ww.first; kw < ww.last; ++kw) {
        const int64_t d = wd.at + kd * wd.step, h = d * p->in[1] + wh.at + kh * wh.step;
        const uint8_t* const own =
            x + place.from + (h * p->in[2] + ww.at + kw * ww.step) * place.step;
        uint32_t words[QK_QAVG_CHANNELS / 4] = {0};
        if (aligned) qk_strip_load(words, own, QK_QAVG_CHANNELS / 4);
        QK_EACH_ON_GPU
        for (int i = 0; i < QK_QAVG_CHANNELS; ++i) {
          const uint8_t byte = aligned ? qk_strip_byte(words, i) : own[i];
          sums[i] += (q->type_x == QK_I8 ? (int8_t)byte : byte) - q->zx;
        }
      }
    }
  }
  QK_EACH_ON_GPU
  for (int i = 0; i < QK_QAVG_CHANNELS; ++i) {
    const int32_t code = qn_rescale(sums[i], multiplier, q->zero, q->lo, q->hi);
    results[i / 4] |= (uint32_t)(uint8_t)code << 8 * (i % 4);
  }
  qk_strip_put(y + unit * QK_QAVG_CHANNELS, results, QK_QAVG_CHANNELS);
}

#define QK_QAVG_WIDE(q, p)                         \
  ((q)->type_x <= QK_U8 && (q)->type_y <= QK_U8 && \
   (qk_pool_in_strips(p) || ((p)->nhwc && (p)->c % QK_QAVG_CHANNELS == 0)))
QK_UNIT int64_t qk_qavg_wide_units(const qk_pool_params* p) {
  if (!p->nhwc) return qk_pool_strips(p);
  return (int64_t)p->n * p->out[0] * p->out[1] * p->out[2] * (p->c / QK_QAVG_CHANNELS);
}
QK_UNIT void qk_qavg_wide(const qk_qpool_params* q, const qk_pool_params* p, int64_t unit,
                          const uint8_t* x, uint8_t* y) {
  if (p->nhwc) {
    qk_qavg_channels(q, p, unit, x, y);
  } else {
    qk_qavg_strip(q, p, unit, x, y);
  }
}
#define QK_QAVG_NEVER(q, p) 0

#define QK_WITH exact, int32_t, QK_QAVG_OFFSET, QK_QAVG_EXACT, QK_QAVG_WIDE
#include "kernels/qpool/cuda.inc"
#define QK_WITH wide, int64_t, QK_QAVG_OFFSET, QK_QAVG_EXACT, QK_QAVG_NEVER
#include "kernels/qpool/cuda.inc"
#define QK_WITH ort, float, QK_QAVG_DECODED, QK_QAVG_ORT, QK_QAVG_NEVER
#include "kernels/qpool/cuda.inc"
#define QK_WITH f32, float, QK_QAVG_DECODED, QK_QAVG_F32, QK_QAVG_NEVER
#include "kernels/qpool/cuda.inc"
#define QK_WITH q31, int64_t, QK_QAVG_OFFSET, QK_QAVG_Q31, QK_QAVG_NEVER
#include "kernels/qpool/cuda.inc"
