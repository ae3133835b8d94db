/* qgemm with vpdpbusd: y [m, n] of codes u8 x [m, k] and weights packed by kernels/qgemm/pack.h
 * with QK_PANELS_AVX512VNNI (bias, multipliers and the bias of floats are in the blob).
 *
 * Takes the calls that kernels/qgemm/accepts.h allows, with the bits of qk_qgemm; `batch` matrices
 * whose weights are one blob (w_batch 0) or one blob each, w_batch bytes apart. Needs avx512f, bw,
 * vl, dq and vnni for all functions. Blobs on 64 bytes are fastest, any place is allowed; no
 * scratch. */
#include "kernels/common/inline.h"
#include "kernels/qgemm/avx512vnni_tile.h"
#include "kernels/qgemm/qgemm.h"

QK_INLINE void qk_qgemm_avx512vnni(const qk_qgemm_params* p, const uint8_t* x, const uint8_t* w,
                                   const float* x_scales, const int32_t* x_zeros,
                                   const void* residual, void* y) {
  const qk_panels form = QK_PANELS_AVX512VNNI;
  const qk_pack_params pack = {1, p->n, p->k, {1, 1, 1}, 0, 0, 0, 0, 0};
  const qk_packed b = qk_packed_places(form, &pack);
  const int32_t zero = p->per_row && x_zeros ? 0 : x_zeros ? *x_zeros : p->x_zero;
  int32_t start[64];
  qk_vnni_tile t;
  t.taps[0] = t.taps[1] = t.taps[2] = 1;
  t.x_tap[0] = t.x_tap[1] = t.x_tap[2] = t.w_tap[0] = t.w_tap[1] = t.w_tap[2] = 0;
  t.k = p->k;
  t.lead = 0;
  t.x_row = p->k;
  t.y_row = p->n;
  t.start = start;
  t.residual = (const uint8_t*)residual;
  t.per_row = p->per_row;
  QK_VNNI_OUTPUT(&t, p)
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const uint8_t* blob = w + (ptrdiff_t)batch * p->w_batch;
    const int32_t* head = (const int32_t*)(const void*)blob;
    const ptrdiff_t row = p->per_row ? (ptrdiff_t)batch * p->m : 0;
    t.unbounded = !head[0];
    t.x_scales = x_scales ? x_scales + row : 0;
    t.x_zeros = p->per_row && x_zeros ? x_zeros + row : 0;
    for (int32_t panel = 0; panel < b.panels; ++panel) {
      const int32_t vectors = qk_panel_vectors(&b, panel), first = 16 * qk_panel_first(&b, panel);
      const int32_t* bias = (const int32_t*)(const void*)(blob + b.bias) + first;
      t.columns = p->n - first < 16 * vectors ? p->n - first : 16 * vectors;
      t.sums = (const int32_t*)(const void*)(blob + b.sums) + first;
      t.multipliers = (const float*)(const void*)(blob + b.multipliers) + first;
      t.float_bias = head[1] ? (const float*)(const void*)(blob + b.float_bias) + first : 0;
      memcpy(start, bias, (size_t)vectors * 64);
      if (zero) qk_vnni_less(start, t.sums, zero, vectors);
      qk_vnni_rows(&t, x + (ptrdiff_t)batch * p->x_batch,
                   (const int8_t*)blob + b.weights + (ptrdiff_t)first * b.units * 4, (uint8_t*)y,
                   (ptrdiff_t)batch * p->y_batch + first, p->m, vectors);
    }
  }
}
