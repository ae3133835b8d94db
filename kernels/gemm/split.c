/* Products of floats in parts: units are blocks of rows, of a single row sixteen outputs. */
#include "kernels/common/units.h"
#include "kernels/gemm/gemm.h"

QK_INLINE int32_t qk_gemm_units(const qk_gemm_params* p) {
  return p->batch == 1 && p->m == 1 ? qk_units_of(p->n, 16)
                                    : p->batch * qk_units_of(p->m, qk_unit_rows(p->m));
}

/* in: x, w, bias, residual. */
QK_INLINE int32_t qk_gemm_part(qk_gemm_params* p, const void** in, void** out,
                               const int32_t* units) {
  if (p->batch == 1 && p->m == 1) {
    const qk_items r = qk_items_of(units, p->n, 16);
    qk_move(&in[1], (ptrdiff_t)r.first * p->k * 4);
    qk_move(&in[2], (ptrdiff_t)r.first * 4);
    qk_move(&in[3], (ptrdiff_t)r.first * 4);
    qk_move_result(&out[0], (ptrdiff_t)r.first * 4);
    p->n = r.count;
    return r.next;
  }
  {
    const qk_items r = qk_items_of(units, p->m, qk_unit_rows(p->m));
    const ptrdiff_t y = (ptrdiff_t)r.batch * p->y_batch + (ptrdiff_t)r.first * p->n;
    qk_move(&in[0], ((ptrdiff_t)r.batch * p->x_batch + (ptrdiff_t)r.first * p->x_row) * 4);
    qk_move(&in[1], (ptrdiff_t)r.batch * p->w_batch * 4);
    qk_move(&in[3], y * 4);
    qk_move_result(&out[0], y * 4);
    p->batch = 1;
    p->m = r.count;
    return r.next;
  }
}
