/* The loops of qgemm over batches and panels, around the tile of one instruction set: see
 * kernels/qtile/packed.h. `panels`, where given, are the first that is computed and the one after
 * the last. */
#ifndef QK_QGEMM_PACKED_GEMM_H
#define QK_QGEMM_PACKED_GEMM_H

#include "kernels/qgemm/qgemm.h"

#define QK_PACKED_ROWS 48 /* whose codes are summed at a time, where weights have a zero point */

/* The zero point of the weights times what the codes of each row come to less their zero point. */
QK_INLINE void qk_packed_row_starts(const qk_qgemm_params* p, const uint8_t* x, int32_t rows,
                                    int32_t w_zero, int32_t zero, const int32_t* x_zeros,
                                    int32_t* to) {
  for (int32_t m = 0; m < rows; ++m) {
    const uint32_t codes = (uint32_t)qk_ptile_sum(x + (ptrdiff_t)m * p->k, p->k);
    const uint32_t zeros = (uint32_t)p->k * (uint32_t)(x_zeros ? x_zeros[m] : zero);
    to[m] = (int32_t)((uint32_t)w_zero * (zeros - codes));
  }
}

/* Zero points of a panel's results, as they are in the bytes that are stored. */
QK_INLINE void qk_packed_zeros(const qk_packed* b, const qk_panel* panel, const qk_ptile* t,
                               const int32_t* y_zeros, int32_t* to) {
  for (int32_t i = 0; i < panel->vectors * QK_PTILE_LANES; ++i) {
    const int32_t n = qk_panel_output(b, panel->vectors, i);
    to[i] = n < t->columns ? y_zeros[panel->first + n] + t->flip : 0;
  }
}

QK_INLINE void qk_packed_gemm(const qk_qgemm_params* p, const uint8_t* x, const uint8_t* w,
                              const float* x_scales, const int32_t* x_zeros, const void* residual,
                              const int32_t* panels, const int32_t* w_zeros, const int32_t* y_zeros,
                              void* y) {
  const qk_panels panels_of = QK_PTILE_PANELS;
  const qk_pack_params pack = {1, p->n, p->k, {1, 1, 1}, 0, 0, 0, 0, 0};
  const qk_packed b = qk_packed_layout(panels_of, &pack);
  const int32_t given = p->per_row && x_zeros ? 0 : x_zeros ? *x_zeros : p->x_zero;
  const int32_t zero = given - QK_PTILE_SHIFT, step = w_zeros ? QK_PACKED_ROWS : p->m;
  int32_t start[64], row_start[QK_PACKED_ROWS];
  union {
    int32_t zeros[64]; /* of codes */
    float scales[64];  /* of floats */
  } each;
  qk_ptile t;
  t.taps[0] = t.taps[1] = t.taps[2] = 1;
  t.x_tap[0] = t.x_tap[1] = t.x_tap[2] = t.w_tap[0] = t.w_tap[1] = t.w_tap[2] = 0;
  t.k = p->k;
  t.x_end = x + (ptrdiff_t)(p->batch - 1) * p->x_batch + (ptrdiff_t)p->m * p->k;
  t.lead = 0;
  t.filled = 1;
  t.x_row = p->k;
  t.y_row = p->n;
  t.start = start;
  t.row_start = w_zeros ? row_start : 0;
  t.residual = (const uint8_t*)residual;
  qk_ptile_output(&t, &p->epilogue);
  qk_ptile_zeros(&t, y_zeros ? each.zeros : 0);
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const uint8_t* blob = w + (ptrdiff_t)batch * p->w_batch;
    for (int32_t first = 0; first < p->m; first += step) {
      const int32_t rows = p->m - first < step ? p->m - first : step;
      const uint8_t* from = x + (ptrdiff_t)batch * p->x_batch + (ptrdiff_t)first * p->k;
      const ptrdiff_t row = (ptrdiff_t)batch * p->m + first;
      t.x_scales = p->per_row && x_scales ? x_scales + row : 0;
      t.x_zeros = p->per_row && x_zeros ? x_zeros + row : 0;
      if (w_zeros) qk_packed_row_starts(p, from, rows, *w_zeros, given, t.x_zeros, row_start);
      for (int32_t i = panels ? panels[0] : 0; i < (panels ? panels[1] : b.panels); ++i) {
        const qk_panel panel = qk_panel_of(&b, blob, 0, i, p->n, &t);
        if (x_scales && !p->per_row) {
          qk_ptile_scale(&t, panel.vectors * QK_PTILE_LANES, *x_scales, each.scales);
        }
        if (w_zeros) t.unbounded = 1; /* the blob was made without the zero point */
        memcpy(start, panel.bias, (size_t)panel.vectors * 4 * QK_PTILE_LANES);
        if (zero) qk_ptile_less(start, panel.weight_sums, zero, panel.vectors);
        if (y_zeros) qk_packed_zeros(&b, &panel, &t, y_zeros, each.zeros);
        qk_ptile_rows(&t, from, panel.w, (uint8_t*)y,
                      (ptrdiff_t)batch * p->y_batch + (ptrdiff_t)first * p->n + panel.first, rows,
                      panel.vectors);
      }
    }
  }
}

/* Blobs of `batch` matrices, each p->each bytes long, that are packed when the program runs. */
QK_INLINE void qk_packed_prepack(const qk_qgemm_prepack_params* p, const uint8_t* w,
                                 const int32_t* bias, const float* multipliers,
                                 const float* float_bias, uint8_t* packed) {
  const qk_panels panels_of = QK_PTILE_PANELS;
  const qk_pack_params pack = {1, p->n, p->k, {1, 1, 1}, 0, p->w_n, 0, p->w_k, p->flip};
  for (int32_t i = 0; i < p->batch; ++i) {
    qk_pack(panels_of, &pack, w + (ptrdiff_t)i * p->w_batch, bias, multipliers, float_bias,
            packed + (ptrdiff_t)i * p->each);
  }
}

#endif
