#include <stddef.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/common/range.h"
#include "kernels/common/shared.h"
#include "kernels/common/vec16.h"
#include "kernels/conv/taps.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/dot.h"
#include "kernels/wconv/wconv.h"

/* Where things lie, and the taps inside the input of the position at hand. */
typedef struct qk_wconv_walk {
  const qk_wconv_params* p;
  ptrdiff_t x_next, x_channel, y_next, y_channel; /* between neighbours, between channels */
  int32_t first[3], last[3];
} qk_wconv_walk;

QK_INLINE qk_wconv_walk qk_wconv_start(const qk_wconv_params* p) {
  const ptrdiff_t in = (ptrdiff_t)p->in[0] * p->in[1] * p->in[2];
  const ptrdiff_t out = (ptrdiff_t)p->out[0] * p->out[1] * p->out[2];
  qk_wconv_walk t = {0};
  t.p = p;
  t.x_next = p->nhwc ? p->ic : 1;
  t.x_channel = p->nhwc ? 1 : in;
  t.y_next = p->nhwc ? p->oc : 1;
  t.y_channel = p->nhwc ? 1 : out;
  return t;
}

QK_INLINE void qk_wconv_at(qk_wconv_walk* t, int axis, int32_t o) {
  const qk_wconv_params* p = t->p;
  qk_taps(o * p->stride[axis] - p->pad[axis], p->dilation[axis], p->k[axis], p->in[axis],
          &t->first[axis], &t->last[axis]);
}

/* The element that a tap reads, from the first of the channel on. */
QK_INLINE ptrdiff_t qk_wconv_element(const qk_wconv_walk* t, const int32_t* o, int32_t kd,
                                     int32_t kh, int32_t kw) {
  const qk_wconv_params* p = t->p;
  const int32_t id = o[0] * p->stride[0] - p->pad[0] + kd * p->dilation[0];
  const int32_t ih = o[1] * p->stride[1] - p->pad[1] + kh * p->dilation[1];
  const int32_t iw = o[2] * p->stride[2] - p->pad[2] + kw * p->dilation[2];
  return (((ptrdiff_t)id * p->in[1] + ih) * p->in[2] + iw) * t->x_next;
}

/* 16 weights as floats. Only products read them, so they need no guard against contraction. */
QK_INLINE void qk_wconv_decode(const int8_t* w, const float* scales, const int32_t* zeros,
                               int32_t zero, float* to) {
  if (zeros) {
    for (int j = 0; j < 16; ++j) to[j] = (float)(w[j] - zeros[j]) * scales[j];
  } else {
    for (int j = 0; j < 16; ++j) to[j] = (float)(w[j] - zero) * scales[j];
  }
}

/* Positions together: what keeps the stack small where lanes are arrays. */
#if QK_VEC16_REGISTERS == 0
#define QK_WCONV_TILE 1
#define qk_wconv_tile_many qk_wconv_tile_1
#else
#define QK_WCONV_TILE 4
#define QK_WITH 4
#include "kernels/wconv/tile.inc"
#define qk_wconv_tile_many qk_wconv_tile_4
#endif
#define QK_WITH 1
#include "kernels/wconv/tile.inc"

QK_INLINE void qk_wconv(const qk_wconv_params* p, const float* x, const int8_t* w,
                        const float* scales, const int32_t* zeros, const float* bias, float* y) {
  const int32_t icg = p->ic / p->groups, ocg = p->oc / p->groups;
  const int32_t taps = p->k[0] * p->k[1] * p->k[2], panels = (ocg + 15) / 16;
  const ptrdiff_t codes = (ptrdiff_t)taps * icg * 16;
  const ptrdiff_t scales_each =
      (ptrdiff_t)(p->by_tap ? taps : 1) * ((icg + p->group - 1) / p->group) * 16;
  qk_wconv_walk t = qk_wconv_start(p);
  const ptrdiff_t x_image = (ptrdiff_t)p->ic * p->in[0] * p->in[1] * p->in[2];
  const ptrdiff_t y_image = (ptrdiff_t)p->oc * p->out[0] * p->out[1] * p->out[2];
  int32_t low, high;
  qk_taps_inside(p->in[2], p->out[2], p->k[2], p->stride[2], p->dilation[2], p->pad[2], &low,
                 &high);
  const int32_t end = qk_range_end(p->first, p->count, p->n * p->groups * panels);
  for (int32_t part = p->first; part < end; ++part) {
    const int32_t panel = part % (p->groups * panels), n = part / (p->groups * panels);
    const int32_t g = panel / panels, block = panel % panels * 16, channel = g * ocg + block;
    const int32_t outputs = ocg - block < 16 ? ocg - block : 16;
    const float* xg = x + n * x_image + g * icg * t.x_channel;
    float* yg = y + n * y_image + channel * t.y_channel;
    const float* sg = scales + panel * scales_each;
    const int32_t* zg = zeros ? zeros + panel * scales_each : 0;
    const float* bg = bias ? bias + channel : 0;
    for (int32_t line = 0; line < p->out[0] * p->out[1]; ++line) {
      int32_t o[3] = {line / p->out[1], line % p->out[1], 0};
      float* yl = yg + (ptrdiff_t)line * p->out[2] * t.y_next;
      qk_wconv_at(&t, 0, o[0]);
      qk_wconv_at(&t, 1, o[1]);
      while (o[2] < p->out[2]) {
        qk_wconv_at(&t, 2, o[2]);
        if (o[2] >= low && o[2] + QK_WCONV_TILE <= high) {
          qk_wconv_tile_many(&t, o, xg, w + panel * codes, sg, zg, bg, yl + o[2] * t.y_next,
                             outputs);
          o[2] += QK_WCONV_TILE;
        } else {
          qk_wconv_tile_1(&t, o, xg, w + panel * codes, sg, zg, bg, yl + o[2] * t.y_next, outputs);
          ++o[2];
        }
      }
    }
  }
}

/* Up to 16 channels at one position. */
QK_INLINE void qk_wconv_channels(const qk_wconv_walk* t, const int32_t* o, int32_t c, int32_t many,
                                 const float* x, const int8_t* w, const float* scales,
                                 const int32_t* zeros, const float* bias, float* y) {
  const qk_wconv_params* p = t->p;
  float acc[16];
  for (int32_t j = 0; j < many; ++j) acc[j] = bias ? bias[c + j] : 0.0f;
  for (int32_t kd = t->first[0]; kd < t->last[0]; ++kd) {
    for (int32_t kh = t->first[1]; kh < t->last[1]; ++kh) {
      for (int32_t kw = t->first[2]; kw < t->last[2]; ++kw) {
        const ptrdiff_t tap = ((ptrdiff_t)kd * p->k[1] + kh) * p->k[2] + kw;
        const float* xk = x + qk_wconv_element(t, o, kd, kh, kw) + c * t->x_channel;
        const int8_t* wk = w + tap * p->oc + c;
        const ptrdiff_t s = (p->by_tap ? tap * p->oc : 0) + c;
        for (int32_t j = 0; j < many; ++j) {
          const int32_t code = wk[j] - (zeros ? zeros[s + j] : p->zero);
          acc[j] = qn_dot_step_f32(xk[j * t->x_channel], (float)code * scales[s + j], acc[j]);
        }
      }
    }
  }
  for (int32_t j = 0; j < many; ++j) y[(c + j) * t->y_channel] = acc[j];
}

QK_INLINE void qk_wconv_depthwise(const qk_wconv_params* p, const float* x, const int8_t* w,
                                  const float* scales, const int32_t* zeros, const float* bias,
                                  float* y) {
  qk_wconv_walk t = qk_wconv_start(p);
  const int32_t positions = p->out[0] * p->out[1] * p->out[2];
  const ptrdiff_t x_image = (ptrdiff_t)p->ic * p->in[0] * p->in[1] * p->in[2];
  const int32_t end = qk_range_end(p->first, p->count, p->n * positions);
  for (int32_t item = p->first; item < end; ++item) {
    const int32_t n = item / positions, at = item % positions;
    const int32_t o[3] = {at / (p->out[1] * p->out[2]), at / p->out[2] % p->out[1], at % p->out[2]};
    float* yk = y + (ptrdiff_t)n * p->oc * positions + at * t.y_next;
    for (int axis = 0; axis < 3; ++axis) qk_wconv_at(&t, axis, o[axis]);
    for (int32_t c = 0; c < p->oc; c += 16) {
      if (p->oc - c >= 16) {
        qk_wconv_channels(&t, o, c, 16, x + n * x_image, w, scales, zeros, bias, yk);
      } else {
        qk_wconv_channels(&t, o, c, p->oc - c, x + n * x_image, w, scales, zeros, bias, yk);
      }
    }
  }
}

QK_INLINE void qk_wconv_transpose(const qk_wconv_params* p, const float* x, const int8_t* w,
                                  const float* scales, const int32_t* zeros, const float* bias,
                                  float* y) {
  const int32_t icg = p->ic / p->groups, ocg = p->oc / p->groups;
  const ptrdiff_t volume = (ptrdiff_t)p->in[0] * p->in[1] * p->in[2];
  const ptrdiff_t taps = (ptrdiff_t)p->k[0] * p->k[1] * p->k[2];
  const int32_t positions = p->out[0] * p->out[1] * p->out[2];
  const int32_t end = qk_range_end(p->first, p->count, p->n * p->oc);
  y += (ptrdiff_t)p->first * positions;
  for (int32_t row = p->first; row < end; ++row) {
    const int32_t oc = row % p->oc, g = oc / ocg;
    const float* xg = x + ((ptrdiff_t)(row / p->oc) * p->ic + g * icg) * volume;
    const int8_t* wg = w + ((ptrdiff_t)g * icg * ocg + oc % ocg) * taps;
    const int32_t zero = zeros ? zeros[oc] : p->zero;
    for (int32_t at = 0; at < positions; ++at) {
      const int32_t o[3] = {at / (p->out[1] * p->out[2]), at / p->out[2] % p->out[1],
                            at % p->out[2]};
      float acc = bias ? bias[oc] : 0.0f;
      for (int32_t tap = 0; tap < taps; ++tap) {
        const int32_t k[3] = {tap / (p->k[1] * p->k[2]), tap / p->k[2] % p->k[1], tap % p->k[2]};
        ptrdiff_t position = 0; /* of the input that the tap takes here; -1: none */
        for (int axis = 0; axis < 3 && position >= 0; ++axis) {
          const int32_t v = o[axis] + p->pad[axis] - k[axis] * p->dilation[axis];
          const int32_t i = v / p->stride[axis];
          const int inside = v >= 0 && v % p->stride[axis] == 0 && i < p->in[axis];
          position = inside ? position * p->in[axis] + i : -1;
        }
        if (position < 0) continue;
        for (int32_t ic = 0; ic < icg; ++ic) {
          const float code = (float)(wg[(ptrdiff_t)ic * ocg * taps + tap] - zero);
          acc = qn_dot_step_f32(xg[ic * volume + position], code * scales[oc], acc);
        }
      }
      *y++ = acc;
    }
  }
}
