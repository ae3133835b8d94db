/* The loops of qgemm over batches and panels, around the tile of one instruction set: see
 * kernels/qgemm/packed.h. */
#ifndef QK_QGEMM_PACKED_GEMM_H
#define QK_QGEMM_PACKED_GEMM_H

#include "kernels/qgemm/qgemm.h"

QK_INLINE void qk_packed_gemm(const qk_qgemm_params* p, const uint8_t* x, const uint8_t* w,
                              const float* x_scales, const int32_t* x_zeros, const void* residual,
                              void* y) {
  const qk_panels form = QK_PTILE_FORM;
  const qk_pack_params pack = {1, p->n, p->k, {1, 1, 1}, 0, 0, 0, 0, 0};
  const qk_packed b = qk_packed_places(form, &pack);
  const int32_t given = p->per_row && x_zeros ? 0 : x_zeros ? *x_zeros : p->x_zero;
  const int32_t zero = given - QK_PTILE_SHIFT;
  int32_t start[64];
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
  t.residual = (const uint8_t*)residual;
  t.per_row = p->per_row;
  QK_PTILE_OUTPUT(&t, p)
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const uint8_t* blob = w + (ptrdiff_t)batch * p->w_batch;
    const ptrdiff_t row = p->per_row ? (ptrdiff_t)batch * p->m : 0;
    t.x_scales = x_scales ? x_scales + row : 0;
    t.x_zeros = p->per_row && x_zeros ? x_zeros + row : 0;
    for (int32_t i = 0; i < b.panels; ++i) {
      const qk_panel panel = qk_panel_of(&b, blob, 0, i, p->n, &t);
      memcpy(start, panel.bias, (size_t)panel.vectors * 4 * QK_PTILE_LANES);
      if (zero) qk_ptile_less(start, panel.sums, zero, panel.vectors);
      qk_ptile_rows(&t, x + (ptrdiff_t)batch * p->x_batch, panel.w, (uint8_t*)y,
                    (ptrdiff_t)batch * p->y_batch + panel.first, p->m, panel.vectors);
    }
  }
}

#endif
