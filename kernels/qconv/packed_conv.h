/* The loops of qconv over planes, groups, panels and rectangles of outputs, around the tile of one
 * instruction set: see kernels/qtile/packed.h.
 *
 * There is no border: a rectangle of outputs whose taps are the same inside the input is computed
 * at once, so no tap outside is ever multiplied, and the zero point of x is taken off for the taps
 * that there are. `panels`, where given, are the first that is computed and the one after the last,
 * those of all groups counted. */
#ifndef QK_QCONV_PACKED_CONV_H
#define QK_QCONV_PACKED_CONV_H

#include "kernels/conv/taps.h"
#include "kernels/qconv/pack.h"
#include "kernels/qconv/qconv.h"

/* Taps [first, last) of an axis that output o has inside. */
QK_INLINE void qk_packed_taps(const qk_qconv_params* p, int axis, int32_t o, int32_t* first,
                              int32_t* last) {
  qk_taps(o * p->stride[axis] - p->pad[axis], p->dilation[axis], p->k[axis], p->in[axis], first,
          last);
}

/* A panel over one rectangle; x is the plane of the first tap along depth, element `at` of y the
 * panel's first of output 0 of the plane. */
QK_INLINE void qk_packed_rect(const qk_qconv_params* p, qk_ptile* t, const qk_panel* panel,
                              qk_rect rect, const uint8_t* x, int32_t zero, int32_t* start,
                              uint8_t* y, ptrdiff_t at) {
  const int32_t icg = p->ic / p->groups, vectors = panel->vectors;
  const ptrdiff_t x_line = (ptrdiff_t)p->in[2] * p->ic, y_line = (ptrdiff_t)p->out[2] * p->oc;
  const int8_t* w = panel->w;
  int32_t h0, h1, w0, w1;
  qk_lines l;
  qk_packed_taps(p, 1, rect.h, &h0, &h1);
  qk_packed_taps(p, 2, rect.w, &w0, &w1);
  memcpy(start, panel->bias, (size_t)vectors * 4 * QK_PTILE_LANES);
  for (int32_t d = 0; zero && d < t->taps[0]; ++d) {
    for (int32_t h = h0; h < h1; ++h) {
      for (int32_t c = w0; c < w1; ++c) {
        const ptrdiff_t tap = ((ptrdiff_t)d * p->k[1] + h) * p->k[2] + c;
        qk_ptile_less(start, panel->weight_sums + tap * QK_PTILE_LANES * vectors, zero, vectors);
      }
    }
  }
  x += (rect.h * p->stride[1] - p->pad[1] + h0 * p->dilation[1]) * x_line;
  x += (ptrdiff_t)(rect.w * p->stride[2] - p->pad[2] + w0 * p->dilation[2]) * p->ic;
  at += rect.h * y_line + (ptrdiff_t)rect.w * p->oc;
  w += h0 * t->w_tap[1];
  t->taps[1] = h1 - h0;
  t->lead = 0;
  t->filled = 1;
  if (p->groups == 1 && p->dilation[2] == 1) { /* the taps of a line are one run */
    t->taps[2] = w1 > w0 ? 1 : 0;
    t->k = (w1 - w0) * icg;
    t->lead = w0 * icg % QK_PTILE_UNIT;
    t->filled = w1 == p->k[2];
    w += (ptrdiff_t)(w0 * icg / QK_PTILE_UNIT) * QK_PTILE_UNIT * QK_PTILE_LANES * vectors;
  } else {
    t->taps[2] = w1 - w0;
    t->k = icg;
    w += w0 * t->w_tap[2];
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
    qk_ptile_rows(t, x + line * l.x_line, w, y, at + line * l.y_line, l.length, vectors);
  }
}

QK_INLINE void qk_packed_conv(const qk_qconv_params* p, const uint8_t* x, const uint8_t* w,
                              const float* x_scale, const int32_t* x_zero, const void* residual,
                              const int32_t* panels, void* y) {
  const qk_panels panels_of = QK_PTILE_PANELS;
  const qk_pack_params pack = qk_qconv_packing(p);
  const qk_packed b = qk_packed_layout(panels_of, &pack);
  const int32_t zero = (x_zero ? *x_zero : p->x_zero) - QK_PTILE_SHIFT, icg = pack.inputs,
                ocg = pack.outputs;
  const ptrdiff_t x_plane = (ptrdiff_t)p->in[1] * p->in[2] * p->ic;
  const ptrdiff_t y_plane = (ptrdiff_t)p->out[1] * p->out[2] * p->oc;
  int32_t start[64], top, bottom, left, right;
  float scales[64];
  qk_rect rect;
  qk_ptile t;
  t.x_end = x + (ptrdiff_t)p->n * p->in[0] * x_plane;
  t.x_tap[0] = p->dilation[0] * x_plane;
  t.x_tap[1] = (ptrdiff_t)p->dilation[1] * p->in[2] * p->ic;
  t.x_tap[2] = (ptrdiff_t)p->dilation[2] * p->ic;
  t.start = start;
  t.row_start = 0;
  t.x_zeros = 0;
  t.x_scales = 0;
  t.residual = (const uint8_t*)residual;
  qk_ptile_output(&t, &p->epilogue);
  qk_taps_inside(p->in[1], p->out[1], p->k[1], p->stride[1], p->dilation[1], p->pad[1], &top,
                 &bottom);
  qk_taps_inside(p->in[2], p->out[2], p->k[2], p->stride[2], p->dilation[2], p->pad[2], &left,
                 &right);
  for (int32_t plane = 0; plane < p->n * p->out[0]; ++plane) {
    const int32_t od = plane % p->out[0];
    int32_t d0, d1;
    qk_packed_taps(p, 0, od, &d0, &d1);
    t.taps[0] = d1 - d0;
    for (int32_t i = panels ? panels[0] : 0; i < (panels ? panels[1] : p->groups * b.panels); ++i) {
      const int32_t g = i / b.panels;
      const ptrdiff_t depth = od * p->stride[0] - p->pad[0] + d0 * p->dilation[0];
      const uint8_t* xg =
          x + (plane / p->out[0] * (ptrdiff_t)p->in[0] + depth) * x_plane + (ptrdiff_t)g * icg;
      qk_panel panel = qk_panel_of(&b, w, g, i % b.panels, ocg, &t);
      if (x_scale) qk_ptile_scale(&t, panel.vectors * QK_PTILE_LANES, *x_scale, scales);
      t.w_tap[2] = (ptrdiff_t)b.units * QK_PTILE_UNIT * QK_PTILE_LANES * panel.vectors;
      t.w_tap[1] = pack.line ? t.w_tap[2] : t.w_tap[2] * p->k[2];
      t.w_tap[0] = t.w_tap[1] * p->k[1];
      panel.w += d0 * t.w_tap[0];
      panel.weight_sums += (ptrdiff_t)d0 * p->k[1] * p->k[2] * QK_PTILE_LANES * panel.vectors;
      QK_FOR_EACH_RECT(rect, p->out, top, bottom, left, right) {
        qk_packed_rect(p, &t, &panel, rect, xg, zero, start, (uint8_t*)y,
                       plane * y_plane + (ptrdiff_t)g * ocg + panel.first);
      }
    }
  }
}

#endif
