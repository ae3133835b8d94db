/* One unit is one output of one channel, or where that can be of codes of 8 bits the outputs of
 * sixteen neighbouring columns (kernels/pool/strip.h), or of sixteen channels of a point. */
#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/cuda.h"
#include "kernels/pool/position.h"
#include "kernels/pool/strip.h"
#include "kernels/qpool/mean.h"

/* A sum, and those of four codes whose bytes of `which` are 1. */
QK_UNIT int32_t qk_qavg_added(uint32_t codes, uint32_t which, int32_t type, int32_t sum) {
#if defined(__CUDA_ARCH__)
  if (type == QK_I8) asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(codes), "r"(which));
  if (type != QK_I8) asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(codes), "r"(which));
#else
  for (int i = 0; i < 32; i += 8) {
    const uint8_t byte = (uint8_t)(codes >> i);
    if (which >> i & 1) sum += type == QK_I8 ? (int8_t)byte : byte;
  }
#endif
  return sum;
}
/* Which columns of word `word` of a strip are taps of its result o, a byte each. */
QK_UNIT uint32_t qk_qavg_taps(const qk_pool_params* p, int32_t word, int32_t o) {
  uint32_t which = 0;
  QK_EACH_ON_GPU
  for (int i = 0; i < 4; ++i) {
    const int32_t tap = 4 * word + i - QK_STRIP_SIDE - o * p->stride[2] + p->pad[2];
    const int32_t step = p->dilation[2];
    if (tap >= 0 && tap % step == 0 && tap / step < p->k[2]) which |= 1u << 8 * i;
  }
  return which;
}
/* Adds the taps of a row to the sums of a strip. */
QK_UNIT void qk_qavg_add_row(const qk_qpool_params* q, const qk_pool_params* p,
                             const uint32_t* words, int32_t* sums) {
  QK_EACH_ON_GPU
  for (int o = 0; o < QK_STRIP; ++o) {
    QK_EACH_ON_GPU
    for (int i = 0; i < QK_STRIP_WORDS; ++i) {
      const uint32_t which = o < QK_STRIP / p->stride[2] ? qk_qavg_taps(p, i, o) : 0;
      if (which) sums[o] = qk_qavg_added(words[i], which, q->type_x, sums[o]);
    }
  }
}
/* What a window of a strip's row divides its sum by, and what zero points add to it. */
typedef struct qk_qavg_size {
  float multiplier;
  int32_t zeros;
} qk_qavg_size;
QK_UNIT qk_qavg_size qk_qavg_size_of(const qk_qpool_params* q, const qk_pool_params* p,
                                     const qk_pool_strip* s, qk_pool_window w) {
  const int32_t rows = (s->d.last - s->d.first) * (s->h.last - s->h.first);
  const qk_qavg_size size = {qn_mean_multiplier(qk_pool_count(p, s->d, s->h, w), q->sx, q->sy),
                             q->zx * rows * (w.last - w.first)};
  return size;
}
/* The codes of a strip's sums. Windows that stay in the strip all have one size. */
QK_UNIT void qk_qavg_codes(const qk_qpool_params* q, const qk_pool_params* p,
                           const qk_pool_strip* s, const int32_t* sums, uint8_t* y) {
  const int32_t stride = p->stride[2], span = (p->k[2] - 1) * p->dilation[2];
  const int32_t last = (p->in[2] - 1) % QK_STRIP + 1; /* columns of the last strip of a row */
  const qk_pool_window inner = {0, p->dilation[2], 0, p->k[2], p->k[2]};
  const qk_qavg_size usual = qk_qavg_size_of(q, p, s, inner);
  uint32_t results[4] = {0};
  QK_EACH_ON_GPU
  for (int o = 0; o < QK_STRIP; ++o) {
    const int32_t first = o * stride - p->pad[2];
    if (o >= QK_STRIP / stride) continue;
    qk_qavg_size size = usual;
    if ((first < 0 && s->column == 0) ||
        (first + span >= last && s->column + first + span >= p->in[2]))
      size = qk_qavg_size_of(q, p, s, qk_pool_taps(p, 2, s->column / stride + o));
    const int32_t code = qn_rescale(sums[o] - size.zeros, size.multiplier, q->zero, q->lo, q->hi);
    results[o / 4] |= (uint32_t)(uint8_t)code << 8 * (o % 4);
  }
  qk_strip_put(y + s->at, results, s->count);
}
/* The means of a strip: exact sums, so their order makes no difference. Rows outside of the input
 * are read from the nearest inside, and do not count. */
QK_UNIT void qk_qavg_strip(const qk_qpool_params* q, const qk_pool_params* p, int64_t unit,
                           const uint8_t* x, uint8_t* y, int aligned) {
  const qk_pool_strip s = qk_pool_strip_at(p, unit);
  const int some = qk_strip_some(&s);
  int32_t sums[QK_STRIP] = {0};
  for (int32_t kd = 0; kd < p->k[0]; ++kd) {
    QK_EACH_ON_GPU
    for (int32_t kh = 0; kh < p->k[1]; ++kh) {
      const int inside = kd >= s.d.first && kd < s.d.last && kh >= s.h.first && kh < s.h.last;
      uint32_t words[QK_STRIP_WORDS];
      if (!some) continue;
      qk_strip_row(p, x + qk_strip_from(p, &s, kd, kh), s.column, aligned, 0, words);
      QK_EACH_ON_GPU
      for (int i = 0; i < QK_STRIP_WORDS; ++i) words[i] = inside ? words[i] : 0;
      qk_qavg_add_row(q, p, words, sums);
    }
  }
  qk_qavg_codes(q, p, &s, sums, y);
}
/* The means of sixteen channels of a point that follow each other. */
#define QK_QAVG_CHANNELS 16
QK_UNIT void qk_qavg_channels(const qk_qpool_params* q, const qk_pool_params* p, int64_t unit,
                              const uint8_t* x, uint8_t* y) {
  const qk_pool_position position = qk_pool_position_of(p, unit * QK_QAVG_CHANNELS);
  const qk_pool_window wd = position.d, wh = position.h, ww = position.w;
  const int aligned = (uintptr_t)x % QK_QAVG_CHANNELS == 0;
  const float multiplier = qn_mean_multiplier(qk_pool_count(p, wd, wh, ww), q->sx, q->sy);
  int32_t sums[QK_QAVG_CHANNELS] = {0};
  uint32_t results[QK_QAVG_CHANNELS / 4] = {0};
  for (int32_t kd = wd.first; kd < wd.last; ++kd) {
    for (int32_t kh = wh.first; kh < wh.last; ++kh) {
      for (int32_t kw = ww.first; kw < ww.last; ++kw) {
        const int64_t d = wd.at + kd * wd.step, h = d * p->in[1] + wh.at + kh * wh.step;
        const uint8_t* const own =
            x + position.from + (h * p->in[2] + ww.at + kw * ww.step) * position.step;
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
  } else if (qk_strip_aligned(p, x)) {
    qk_qavg_strip(q, p, unit, x, y, 1);
  } else {
    qk_qavg_strip(q, p, unit, x, y, 0);
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
