#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/common/range.h"
#include "kernels/common/shared.h"
#include "kernels/conv/taps.h"
#include "kernels/qconv/qconv.h"
#include "kernels/qtile/tile.h"

QK_INLINE void qk_qconv_taps(const qk_qconv_params* p, int axis, int32_t o, int32_t* first,
                             int32_t* last) {
  qk_taps(o * p->stride[axis] - p->pad[axis], p->dilation[axis], p->k[axis], p->in[axis], first,
          last);
}
QK_INLINE void qk_qconv_inside(const qk_qconv_params* p, int axis, int32_t* low, int32_t* high) {
  qk_taps_inside(p->in[axis], p->out[axis], p->k[axis], p->stride[axis], p->dilation[axis],
                 p->pad[axis], low, high);
}

/* ---- any layout and type ---- */

#define QK_WITH i8_i8_i32, int8_t, int8_t, int32_t, uint32_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH u8_i8_i32, uint8_t, int8_t, int32_t, uint32_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH i16_i8_i32, int16_t, int8_t, int32_t, uint32_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH u16_i8_i32, uint16_t, int8_t, int32_t, uint32_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH i8_i8_i64, int8_t, int8_t, int64_t, uint64_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH u8_i8_i64, uint8_t, int8_t, int64_t, uint64_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH i16_i8_i64, int16_t, int8_t, int64_t, uint64_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH u16_i8_i64, uint16_t, int8_t, int64_t, uint64_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH i8_i16_i64, int8_t, int16_t, int64_t, uint64_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH u8_i16_i64, uint8_t, int16_t, int64_t, uint64_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH i16_i16_i64, int16_t, int16_t, int64_t, uint64_t
#include "kernels/qconv/nchw.inc"
#define QK_WITH u16_i16_i64, uint16_t, int16_t, int64_t, uint64_t
#include "kernels/qconv/nchw.inc"

/* ---- channels-last ---- */

/* One group of panels over one rectangle; all taps of the rectangle are inside. */
QK_INLINE void qk_qconv_rect(const qk_qconv_params* p, qk_qtile* t, qk_rect rect, const uint8_t* x,
                             const int8_t* w, void* y, ptrdiff_t at, int32_t outputs) {
  const int32_t icg = p->ic / p->groups;
  const ptrdiff_t x_line = (ptrdiff_t)p->in[2] * p->ic * t->x_size;
  const ptrdiff_t y_line = (ptrdiff_t)p->out[2] * p->oc;
  int32_t h0, h1, w0, w1;
  qk_lines l;
  qk_qconv_taps(p, 1, rect.h, &h0, &h1);
  qk_qconv_taps(p, 2, rect.w, &w0, &w1);
  x += (rect.h * p->stride[1] - p->pad[1] + h0 * p->dilation[1]) * x_line;
  x += (ptrdiff_t)(rect.w * p->stride[2] - p->pad[2] + w0 * p->dilation[2]) * p->ic * t->x_size;
  w += h0 * t->w_tap[1];
  at += rect.h * y_line + (ptrdiff_t)rect.w * p->oc;
  t->taps[1] = h1 - h0;
  t->lead = 0;
  if (p->groups == 1 && p->dilation[2] == 1) { /* the taps of a line are one run */
    t->taps[2] = w1 > w0 ? 1 : 0;
    t->k = (w1 - w0) * icg;
    t->lead = w0 * icg & 1;
    w += (ptrdiff_t)(w0 * icg / 2) * 32;
  } else {
    t->taps[2] = w1 - w0;
    t->k = icg;
    w += w0 * t->w_tap[2];
  }
  l.lines = rect.rows;
  l.length = rect.columns;
  l.x_line = p->stride[1] * x_line;
  l.y_line = y_line;
  l.x_row = (ptrdiff_t)p->stride[2] * p->ic * t->x_size;
  l.y_row = p->oc;
  l = qk_long_lines(l);
  t->x_row = l.x_row;
  t->y_row = l.y_row;
  for (int32_t line = 0; line < l.lines; ++line) {
    qk_run_qrows(t, x + line * l.x_line, w, y, at + line * l.y_line, l.length, outputs);
  }
}

QK_INLINE void qk_qconv_nhwc(const qk_qconv_params* p, const void* x, const int8_t* w,
                             const int32_t* bias, const void* multipliers, const float* float_bias,
                             const int32_t* w_zeros, const float* x_scale, const int32_t* x_zero,
                             const void* residual, void* y) {
  const qk_q_output out =
      qk_q_output_of(&p->epilogue, multipliers, float_bias, x_scale != 0, residual);
  const int32_t icg = p->ic / p->groups, ocg = p->oc / p->groups;
  const int32_t size = p->x_type <= QK_U8 ? 1 : 2;
  const int32_t line_run = p->groups == 1 && p->dilation[2] == 1;
  const ptrdiff_t x_plane = (ptrdiff_t)p->in[1] * p->in[2] * p->ic * size;
  const ptrdiff_t y_plane = (ptrdiff_t)p->out[1] * p->out[2] * p->oc;
  int32_t top, bottom, left, right;
  qk_rect rect;
  qk_qtile t;
  t.w_tap[2] = (ptrdiff_t)((icg + 1) / 2) * 32;
  t.w_tap[1] = line_run ? (ptrdiff_t)((icg * p->k[2] + 1) / 2) * 32 : t.w_tap[2] * p->k[2];
  t.w_tap[0] = t.w_tap[1] * p->k[1];
  t.w_panel = t.w_tap[0] * p->k[0];
  t.x_tap[2] = (ptrdiff_t)p->dilation[2] * p->ic * size;
  t.x_tap[1] = (ptrdiff_t)p->dilation[1] * p->in[2] * p->ic * size;
  t.x_tap[0] = p->dilation[0] * x_plane;
  t.x_type = p->x_type;
  t.x_size = size;
  t.simple = p->x_type <= QK_U8 && !w_zeros;
  t.x_zero = x_zero ? *x_zero : p->x_zero;
  t.per_row = 0;
  t.x_zeros = 0;
  t.x_scales = x_scale;
  t.bias = bias;
  t.w_zeros = w_zeros;
  t.out = out;
  qk_qconv_inside(p, 1, &top, &bottom);
  qk_qconv_inside(p, 2, &left, &right);
  for (int32_t n = 0; n < p->n; ++n) {
    for (int32_t od = 0; od < p->out[0]; ++od) {
      int32_t d0, d1;
      qk_qconv_taps(p, 0, od, &d0, &d1);
      t.taps[0] = d1 - d0;
      for (int32_t g = 0; g < p->groups; ++g) {
        const ptrdiff_t depth = od * p->stride[0] - p->pad[0] + d0 * p->dilation[0];
        const uint8_t* xg = (const uint8_t*)x + (n * (ptrdiff_t)p->in[0] + depth) * x_plane +
                            (ptrdiff_t)g * icg * size;
        const ptrdiff_t y_at = (n * (ptrdiff_t)p->out[0] + od) * y_plane + (ptrdiff_t)g * ocg;
        const int8_t* wg = w + g * ((ocg + 15) / 16) * t.w_panel + d0 * t.w_tap[0];
        for (int32_t o = 0; o < ocg;) {
          const int32_t panels = qk_qpanels_together((ocg - o + 15) / 16);
          const int32_t outputs = ocg - o < 16 * panels ? ocg - o : 16 * panels;
          t.channel = g * ocg + o;
          QK_FOR_EACH_RECT(rect, p->out, top, bottom, left, right) {
            qk_qconv_rect(p, &t, rect, xg, wg + o / 16 * t.w_panel, y, y_at + o, outputs);
          }
          o += outputs;
        }
      }
    }
  }
}

/* ---- channels-last, one channel per group ---- */

/* Outputs together: where all taps are inside, and elsewhere; the stack holds no more. */
#if QK_ACC_REGISTERS == 1
#define QK_QDEPTHWISE_INNER 8
#define QK_QDEPTHWISE_EDGES 4
#elif QK_ACC_REGISTERS == 2
#define QK_QDEPTHWISE_INNER 2
#define QK_QDEPTHWISE_EDGES 2
#else
#define QK_QDEPTHWISE_INNER 1
#define QK_QDEPTHWISE_EDGES 1
#endif

/* Neighbouring outputs of one line, n <= 16 channels: where things are for the first of them. */
typedef struct qk_qdepthwise {
  int32_t taps[2];  /* how many are inside along depth and height */
  const uint8_t* x; /* column 0 of the line of the first of them */
  const int8_t* w;  /* of the first of them */
  int32_t column;   /* of tap 0, may be outside */
  int32_t outputs, n, zero;
} qk_qdepthwise;

/* Distances in the input, in codes. */
QK_INLINE ptrdiff_t qk_qdepthwise_line(const qk_qconv_params* p, int32_t a, int32_t b) {
  const ptrdiff_t line = (ptrdiff_t)a * p->dilation[0] * p->in[1] + b * p->dilation[1];
  return line * p->in[2] * p->oc;
}
QK_INLINE ptrdiff_t qk_qdepthwise_weight(const qk_qconv_params* p, int32_t a, int32_t b,
                                         int32_t c) {
  return (((ptrdiff_t)a * p->k[1] + b) * p->k[2] + c) * p->oc;
}

#if QK_ACC_REGISTERS != 0
#define QK_QDEPTHWISE_INSIDE(m) (line + (ptrdiff_t)(column + (m)*p->stride[2]) * p->oc)
#define QK_QDEPTHWISE_EDGE(m)                                                       \
  ((((m) < outputs) & ((uint32_t)(column + (m)*p->stride[2]) < (uint32_t)p->in[2])) \
       ? QK_QDEPTHWISE_INSIDE(m)                                                    \
       : zeros)
#define QK_WITH qk_qdepthwise_inner, QK_QDEPTHWISE_INNER, QK_QDEPTHWISE_INSIDE
#include "kernels/qconv/depthwise.inc"
#define QK_WITH qk_qdepthwise_edge, QK_QDEPTHWISE_EDGES, QK_QDEPTHWISE_EDGE
#include "kernels/qconv/depthwise.inc"

#endif

/* The same accumulators for any type, weights with zero points, and where fewer codes can be read.
 */
#define QK_QDEPTHWISE_ADD(CODE, W_ZERO)                                               \
  for (int32_t j = 0; j < n; ++j) {                                                   \
    const int32_t product = ((CODE)-t->zero) * (wk[j] - (W_ZERO));                    \
    accumulators[m][j] = (int32_t)((uint32_t)accumulators[m][j] + (uint32_t)product); \
  }
QK_INLINE void qk_qdepthwise_any(const qk_qconv_params* p, const qk_qdepthwise* t,
                                 const int32_t* bias, const int32_t* w_zeros,
                                 int32_t (*accumulators)[16]) {
  const int32_t size = p->x_type <= QK_U8 ? 1 : 2, n = t->n;
  for (int32_t m = 0; m < t->outputs; ++m) {
    for (int32_t j = 0; j < n; ++j) accumulators[m][j] = bias ? bias[j] : 0;
    for (int32_t a = 0; a < t->taps[0]; ++a) {
      for (int32_t b = 0; b < t->taps[1]; ++b) {
        for (int32_t c = 0; c < p->k[2]; ++c) {
          const int32_t column = t->column + c * p->dilation[2] + m * p->stride[2];
          const ptrdiff_t at = qk_qdepthwise_line(p, a, b) + (ptrdiff_t)column * p->oc;
          const uint8_t* xk = t->x + at * size;
          const int8_t* wk = t->w + qk_qdepthwise_weight(p, a, b, c);
          if (column < 0 || column >= p->in[2]) continue;
          if (w_zeros) {
            QK_QDEPTHWISE_ADD(qk_load_code(xk, p->x_type, j), w_zeros[j])
          } else if (p->x_type == QK_I8) {
            QK_QDEPTHWISE_ADD(((const int8_t*)xk)[j], 0)
          } else if (p->x_type == QK_U8) {
            QK_QDEPTHWISE_ADD(xk[j], 0)
          } else {
            QK_QDEPTHWISE_ADD(qk_load_code(xk, p->x_type, j), 0)
          }
        }
      }
    }
  }
}

/* Whether sixteen codes of 8 bits can be read at every tap, where `left` follow t->x. */
QK_INLINE int qk_qdepthwise_simple(const qk_qconv_params* p, const qk_qdepthwise* t,
                                   const int32_t* w_zeros, ptrdiff_t left) {
  const int32_t end = t->column + (t->outputs - 1) * p->stride[2] + (p->k[2] - 1) * p->dilation[2];
  const ptrdiff_t last = end < p->in[2] ? end : p->in[2] - 1;
  if (QK_ACC_REGISTERS == 0 || p->x_type > QK_U8 || w_zeros) return 0;
  return t->n == 16 ||
         qk_qdepthwise_line(p, t->taps[0] - 1, t->taps[1] - 1) + last * p->oc + 16 <= left;
}

QK_INLINE void qk_qconv_depthwise(const qk_qconv_params* p, const void* x, const int8_t* w,
                                  const int32_t* bias, const void* multipliers,
                                  const float* float_bias, const int32_t* w_zeros,
                                  const float* x_scale, const int32_t* x_zero, const void* residual,
                                  void* y) {
  const qk_q_output out =
      qk_q_output_of(&p->epilogue, multipliers, float_bias, x_scale != 0, residual);
  const int32_t size = p->x_type <= QK_U8 ? 1 : 2;
  const ptrdiff_t line = (ptrdiff_t)p->in[2] * p->oc, plane = p->in[1] * line;
  const ptrdiff_t all = p->n * p->in[0] * plane;
#if QK_ACC_REGISTERS != 0
  uint8_t zeros[16]; /* what is outside the input */
#endif
  int32_t accumulators[QK_QDEPTHWISE_INNER][16];
  int32_t left, right;
  qk_qdepthwise t;
  t.zero = x_zero ? *x_zero : p->x_zero;
#if QK_ACC_REGISTERS != 0
  memset(zeros, t.zero, 16);
#endif
  qk_qconv_inside(p, 2, &left, &right);
  for (int32_t row = 0; row < p->n * p->out[0] * p->out[1]; ++row) {
    const int32_t oh = row % p->out[1], od = row / p->out[1] % p->out[0];
    const ptrdiff_t n = row / p->out[1] / p->out[0];
    int32_t d0, d1, h0, h1;
    ptrdiff_t from;
    qk_qconv_taps(p, 0, od, &d0, &d1);
    qk_qconv_taps(p, 1, oh, &h0, &h1);
    t.taps[0] = d1 - d0;
    t.taps[1] = h1 - h0;
    from = (n * p->in[0] + od * p->stride[0] - p->pad[0] + d0 * p->dilation[0]) * plane;
    from += (oh * p->stride[1] - p->pad[1] + h0 * p->dilation[1]) * line;
    for (int32_t channel = 0; channel < p->oc; channel += 16) {
      const int32_t* b = bias ? bias + channel : 0;
      t.n = p->oc - channel < 16 ? p->oc - channel : 16;
      t.x = (const uint8_t*)x + (from + channel) * size;
      t.w = w + qk_qdepthwise_weight(p, d0, h0, 0) + channel;
      for (int32_t o = 0; o < p->out[2]; o += t.outputs) {
        const int32_t inside = QK_QDEPTHWISE_INNER > QK_QDEPTHWISE_EDGES && o >= left &&
                               o + QK_QDEPTHWISE_INNER <= right;
        const int32_t many = inside ? QK_QDEPTHWISE_INNER : QK_QDEPTHWISE_EDGES;
        const ptrdiff_t at = ((ptrdiff_t)row * p->out[2] + o) * p->oc + channel;
        t.column = o * p->stride[2] - p->pad[2];
        t.outputs = p->out[2] - o < many ? p->out[2] - o : many;
        if (!qk_qdepthwise_simple(p, &t, w_zeros, all - from - channel)) {
          qk_qdepthwise_any(p, &t, b, w_zeros ? w_zeros + channel : 0, accumulators);
#if QK_ACC_REGISTERS != 0
        } else if (inside) {
          qk_qdepthwise_inner(p, &t, b, zeros, accumulators);
        } else {
          qk_qdepthwise_edge(p, &t, b, zeros, accumulators);
#endif
        }
        {
          const qk_q_block block = {accumulators[0], t.outputs, 1,  channel, t.n,
                                    x_scale,         0,         at, p->oc};
          qk_q_store_block(&out, &block, y);
        }
      }
    }
  }
}

/* ---- transposed ---- */

#define QK_WITH i8_i8, int8_t, int8_t
#include "kernels/qconv/transpose.inc"
#define QK_WITH u8_i8, uint8_t, int8_t
#include "kernels/qconv/transpose.inc"
#define QK_WITH i16_i8, int16_t, int8_t
#include "kernels/qconv/transpose.inc"
#define QK_WITH u16_i8, uint16_t, int8_t
#include "kernels/qconv/transpose.inc"
#define QK_WITH i8_i16, int8_t, int16_t
#include "kernels/qconv/transpose.inc"
#define QK_WITH u8_i16, uint8_t, int16_t
#include "kernels/qconv/transpose.inc"
#define QK_WITH i16_i16, int16_t, int16_t
#include "kernels/qconv/transpose.inc"
#define QK_WITH u16_i16, uint16_t, int16_t
#include "kernels/qconv/transpose.inc"
