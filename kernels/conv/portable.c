#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/common/range.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/taps.h"
#include "kernels/gemm/tile.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/dot.h"
#include "kernels/numerics/half.h"

QK_INLINE void qk_conv_taps(const qk_conv_params* p, int axis, int32_t o, int32_t* first,
                            int32_t* last) {
  qk_taps(o * p->stride[axis] - p->pad[axis], p->dilation[axis], p->k[axis], p->valid[axis], first,
          last);
}
QK_INLINE void qk_conv_inside(const qk_conv_params* p, int axis, int32_t* low, int32_t* high) {
  qk_taps_inside(p->valid[axis], p->out[axis], p->k[axis], p->stride[axis], p->dilation[axis],
                 p->pad[axis], low, high);
}

/* ---- row-major, any float type ---- */

#define QK_CONV_SAME(v) (v)
#define QK_WITH f32, float, float, qn_dot_step_f32, qn_clamp_f32, QK_CONV_SAME, QK_CONV_SAME
#include "kernels/conv/nchw.inc"
#define QK_WITH f64, double, double, qn_dot_step_f64, qn_clamp_f64, QK_CONV_SAME, QK_CONV_SAME
#include "kernels/conv/nchw.inc"
#define QK_WITH f16, uint16_t, float, qn_dot_step_f32, qn_clamp_f32, qn_f16_to_f32, qn_f16_from_f32
#include "kernels/conv/nchw.inc"
#define QK_WITH \
  bf16, uint16_t, float, qn_dot_step_f32, qn_clamp_f32, qn_bf16_to_f32, qn_bf16_from_f32
#include "kernels/conv/nchw.inc"

/* ---- chains of products, input channels outermost ---- */

/* The length of the next chain when `left` products are left. */
QK_INLINE ptrdiff_t qk_conv_chain(const qk_conv_ordered_params* p, ptrdiff_t left) {
  if (p->quads) return left >= 4 ? 4 : left >= 2 ? 2 : left;
  return left < p->block ? left : p->block;
}

/* The sum of one output; x and w are at its first input channel. */
QK_INLINE float qk_conv_ordered_sum(const qk_conv_ordered_params* p, int32_t od, int32_t oh,
                                    int32_t ow, const float* x, ptrdiff_t x_next,
                                    ptrdiff_t x_channel, const float* w) {
  const ptrdiff_t x_line = p->in[2] * x_next, x_plane = p->in[1] * x_line;
  const int32_t icg = p->ic / p->groups;
  ptrdiff_t left = (ptrdiff_t)icg * p->k[0] * p->k[1] * p->k[2];
  ptrdiff_t chain_left = qk_conv_chain(p, left);
  float sum = 0.0f, chain = 0.0f;
  for (int32_t ic = 0; ic < icg; ++ic, x += x_channel) {
    for (int32_t kd = 0; kd < p->k[0]; ++kd) {
      const int32_t id = od * p->stride[0] - p->pad[0] + kd * p->dilation[0];
      for (int32_t kh = 0; kh < p->k[1]; ++kh) {
        const int32_t ih = oh * p->stride[1] - p->pad[1] + kh * p->dilation[1];
        const int outside = id < 0 || id >= p->in[0] || ih < 0 || ih >= p->in[1];
        for (int32_t kw = 0; kw < p->k[2]; ++kw, ++w) {
          const int32_t iw = ow * p->stride[2] - p->pad[2] + kw * p->dilation[2];
          if (!outside && iw >= 0 && iw < p->in[2]) {
            const float v = x[id * x_plane + ih * x_line + iw * x_next];
            chain = p->quads ? chain + qn_mulf(v, *w) : qn_dot_step_f32(v, *w, chain);
          }
          --left;
          if (--chain_left == 0) {
            sum += chain;
            chain = 0.0f;
            chain_left = qk_conv_chain(p, left);
          }
        }
      }
    }
  }
  return sum;
}

QK_INLINE void qk_conv_ordered_f32(const qk_conv_ordered_params* p, const float* x, const float* w,
                                   const float* bias, float* y) {
  const int32_t icg = p->ic / p->groups, ocg = p->oc / p->groups;
  const ptrdiff_t terms = (ptrdiff_t)icg * p->k[0] * p->k[1] * p->k[2];
  const ptrdiff_t volume = (ptrdiff_t)p->in[0] * p->in[1] * p->in[2];
  const ptrdiff_t result = (ptrdiff_t)p->out[0] * p->out[1] * p->out[2];
  const ptrdiff_t x_next = p->nhwc ? p->ic : 1, x_channel = p->nhwc ? 1 : volume;
  const ptrdiff_t y_next = p->nhwc ? p->oc : 1, y_channel = p->nhwc ? 1 : result;
  for (int32_t row = 0; row < p->n * p->oc; ++row) {
    const int32_t oc = row % p->oc;
    const ptrdiff_t n = row / p->oc;
    const float* xg = x + n * p->ic * volume + oc / ocg * icg * x_channel;
    float* yo = y + n * p->oc * result + oc * y_channel;
    ptrdiff_t at = 0;
    for (int32_t od = 0; od < p->out[0]; ++od) {
      for (int32_t oh = 0; oh < p->out[1]; ++oh) {
        for (int32_t ow = 0; ow < p->out[2]; ++ow, at += y_next) {
          const float sum =
              qk_conv_ordered_sum(p, od, oh, ow, xg, x_next, x_channel, w + oc * terms);
          yo[at] = qn_clamp_f32(bias ? sum + bias[oc] : sum, p->lo, p->hi);
        }
      }
    }
  }
}

/* ---- packing ---- */

QK_INLINE void qk_conv_pack_f32(const qk_conv_pack_params* p, const float* w, float* y) {
  for (int32_t g = 0; g < p->groups; ++g) {
    const float* wg = w + (ptrdiff_t)g * p->ocg * p->icg * p->taps;
    for (int32_t panel = 0; panel < p->ocg; panel += 16) {
      for (int32_t tap = 0; tap < p->taps; ++tap) {
        for (int32_t ic = 0; ic < p->icg; ++ic) {
          for (int32_t j = 0; j < 16; ++j) {
            const int32_t oc = panel + j;
            *y++ = oc < p->ocg ? wg[((ptrdiff_t)oc * p->icg + ic) * p->taps + tap] : 0.0f;
          }
        }
      }
    }
  }
}

QK_INLINE void qk_conv_depthwise_pack_f32(const qk_conv_pack_params* p, const float* w, float* y) {
  for (int32_t tap = 0; tap < p->taps; ++tap) {
    for (int32_t c = 0; c < p->groups; ++c) *y++ = w[(ptrdiff_t)c * p->taps + tap];
  }
}

/* ---- channels-last ---- */

/* One group of panels over one rectangle; all taps of the rectangle are inside. */
QK_INLINE void qk_conv_rect_f32(const qk_conv_params* p, qk_tile* t, qk_rect rect, const float* x,
                                const float* w, const float* bias, const float* residual, float* y,
                                int32_t outputs, int32_t panels) {
  const int32_t icg = p->ic / p->groups;
  const ptrdiff_t x_line = (ptrdiff_t)p->in[2] * p->ic, y_line = (ptrdiff_t)p->out[2] * p->oc;
  int32_t h0, h1, w0, w1;
  qk_lines l;
  ptrdiff_t at;
  qk_conv_taps(p, 1, rect.h, &h0, &h1);
  qk_conv_taps(p, 2, rect.w, &w0, &w1);
  x += (rect.h * p->stride[1] - p->pad[1] + h0 * p->dilation[1]) * x_line;
  x += (ptrdiff_t)(rect.w * p->stride[2] - p->pad[2] + w0 * p->dilation[2]) * p->ic;
  w += h0 * t->w_tap[1] + w0 * (ptrdiff_t)icg * 16;
  at = rect.h * y_line + (ptrdiff_t)rect.w * p->oc;
  t->taps[1] = h1 - h0;
  if (p->groups == 1 && p->dilation[2] == 1) { /* the taps of a row are one run */
    t->taps[2] = 1;
    t->k = (w1 - w0) * icg;
  } else {
    t->taps[2] = w1 - w0;
    t->k = icg;
  }
  l.lines = rect.rows;
  l.length = rect.columns;
  l.x_line = p->stride[1] * x_line;
  l.y_line = y_line;
  l.x_row = (ptrdiff_t)p->stride[2] * p->ic;
  l.y_row = p->oc;
  l = qk_long_lines(l);
  t->x_row = l.x_row;
  t->y_row = l.y_row;
  for (int32_t line = 0; line < l.lines; ++line) {
    const ptrdiff_t from = at + line * l.y_line;
    qk_run_rows(t, x + line * l.x_line, w, bias, residual ? residual + from : 0, y + from, l.length,
                outputs, panels, QK_IS_NUMBER(p->out[1] * p->out[2]));
  }
}

QK_INLINE void qk_conv_nhwc_f32(const qk_conv_params* p, const float* x, const float* w,
                                const float* bias, const float* residual, float* y) {
  const int32_t icg = p->ic / p->groups, ocg = p->oc / p->groups;
  const ptrdiff_t x_plane = (ptrdiff_t)p->in[1] * p->in[2] * p->ic;
  const ptrdiff_t y_plane = (ptrdiff_t)p->out[1] * p->out[2] * p->oc;
  int32_t top, bottom, left, right;
  qk_rect rect;
  qk_tile t;
  t.w_tap[2] = (ptrdiff_t)icg * 16;
  t.w_tap[1] = t.w_tap[2] * p->k[2];
  t.w_tap[0] = t.w_tap[1] * p->k[1];
  t.w_panel = t.w_tap[0] * p->k[0];
  t.x_tap[2] = (ptrdiff_t)p->dilation[2] * p->ic;
  t.x_tap[1] = (ptrdiff_t)p->dilation[1] * p->in[2] * p->ic;
  t.x_tap[0] = p->dilation[0] * x_plane;
  t.lo = p->lo;
  t.hi = p->hi;
  t.rlo = p->add_f32.lo;
  t.rhi = p->add_f32.hi;
  qk_conv_inside(p, 1, &top, &bottom);
  qk_conv_inside(p, 2, &left, &right);
  for (int32_t n = 0; n < p->n; ++n) {
    for (int32_t od = 0; od < p->out[0]; ++od) {
      int32_t d0, d1;
      qk_conv_taps(p, 0, od, &d0, &d1);
      t.taps[0] = d1 - d0;
      for (int32_t g = 0; g < p->groups; ++g) {
        const ptrdiff_t depth = od * p->stride[0] - p->pad[0] + d0 * p->dilation[0];
        const float* xg = x + (n * (ptrdiff_t)p->in[0] + depth) * x_plane + (ptrdiff_t)g * icg;
        const ptrdiff_t y_at = (n * (ptrdiff_t)p->out[0] + od) * y_plane + (ptrdiff_t)g * ocg;
        const float* wg = w + g * ((ocg + 15) / 16) * t.w_panel + d0 * t.w_tap[0];
        for (int32_t o = 0; o < ocg;) {
          const int32_t panels = qk_panels_together((ocg - o + 15) / 16);
          const int32_t outputs = ocg - o < 16 * panels ? ocg - o : 16 * panels;
          const float* wo = wg + o / 16 * t.w_panel;
          const float* bo = bias ? bias + g * ocg + o : 0;
          const float* ro = residual ? residual + y_at + o : 0;
          QK_FOR_EACH_RECT(rect, p->out, top, bottom, left, right) {
            qk_conv_rect_f32(p, &t, rect, xg, wo, bo, ro, y + y_at + o, outputs, panels);
          }
          o += outputs;
        }
      }
    }
  }
}

/* ---- channels-last, one channel per group ---- */

#define QK_WITH 1
#include "kernels/conv/depthwise.inc"
#define QK_WITH 4
#include "kernels/conv/depthwise.inc"

QK_INLINE void qk_conv_depthwise_f32(const qk_conv_params* p, const float* x, const float* w,
                                     const float* bias, const float* residual, float* y) {
  int32_t left, right;
  qk_conv_inside(p, 2, &left, &right);
  for (int32_t n = 0; n < p->n; ++n) {
    for (int32_t od = 0; od < p->out[0]; ++od) {
      for (int32_t oh = 0; oh < p->out[1]; ++oh) {
        int32_t first[3], last[3];
        qk_conv_taps(p, 0, od, &first[0], &last[0]);
        qk_conv_taps(p, 1, oh, &first[1], &last[1]);
        for (int32_t ow = 0; ow < p->out[2];) {
          const int32_t many = QK_VEC16_REGISTERS && ow >= left && ow + 4 <= right ? 4 : 1;
          const ptrdiff_t id = od * p->stride[0] - p->pad[0], ih = oh * p->stride[1] - p->pad[1];
          const ptrdiff_t iw = ow * p->stride[2] - p->pad[2];
          const ptrdiff_t from = (((n * (ptrdiff_t)p->in[0] + id) * p->in[1] + ih) * p->in[2] + iw);
          const ptrdiff_t at =
              (((n * (ptrdiff_t)p->out[0] + od) * p->out[1] + oh) * p->out[2] + ow) * p->oc;
          qk_conv_taps(p, 2, ow, &first[2], &last[2]);
          for (int32_t c = 0; c < p->oc; c += 16) {
            const int32_t lanes = p->oc - c < 16 ? p->oc - c : 16;
            const float* bc = bias ? bias + c : 0;
            const float* rc = residual ? residual + at + c : 0;
            const ptrdiff_t xc = from * p->oc + c; /* may lie before x; its taps inside do not */
            if (many == 4) {
              qk_conv_depthwise_4(p, first, last, x, xc, w + c, bc, rc, y + at + c, lanes);
            } else {
              qk_conv_depthwise_1(p, first, last, x, xc, w + c, bc, rc, y + at + c, lanes);
            }
          }
          ow += many;
        }
      }
    }
  }
}

/* ---- transposed ---- */

#define QK_WITH f32, float, float, qn_dot_step_f32, qn_clamp_f32, QK_CONV_SAME, QK_CONV_SAME
#include "kernels/conv/transpose.inc"
#define QK_WITH f64, double, double, qn_dot_step_f64, qn_clamp_f64, QK_CONV_SAME, QK_CONV_SAME
#include "kernels/conv/transpose.inc"
#define QK_WITH f16, uint16_t, float, qn_dot_step_f32, qn_clamp_f32, qn_f16_to_f32, qn_f16_from_f32
#include "kernels/conv/transpose.inc"
#define QK_WITH \
  bf16, uint16_t, float, qn_dot_step_f32, qn_clamp_f32, qn_bf16_to_f32, qn_bf16_from_f32
#include "kernels/conv/transpose.inc"
