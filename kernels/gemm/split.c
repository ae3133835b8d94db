/* Products of floats in parts: units are blocks of rows, of a single row sixteen outputs. */
#include "kernels/common/range.h"
#include "kernels/common/units.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/operands.h"

QK_INLINE int32_t qk_gemm_units(const qk_gemm_params* p) {
  return p->batch == 1 && p->m == 1 ? qk_units_of(p->n, 16)
                                    : p->batch * qk_units_of(p->m, qk_unit_rows(p->m));
}

QK_INLINE int32_t qk_gemm_subrange(qk_gemm_params* p, const void** in, void** out,
                                   const int32_t* units) {
  if (p->batch == 1 && p->m == 1) {
    const qk_items r = qk_items_of(units, p->n, 16);
    qk_move(&in[QK_GEMM_PANELS_IN_W], (ptrdiff_t)r.first * p->k * 4);
    qk_move(&in[QK_GEMM_PANELS_IN_BIAS], (ptrdiff_t)r.first * 4);
    qk_move(&in[QK_GEMM_PANELS_IN_RESIDUAL], (ptrdiff_t)r.first * 4);
    qk_move_result(&out[QK_GEMM_PANELS_OUT_Y], (ptrdiff_t)r.first * 4);
    p->n = r.count;
    return r.next;
  }
  {
    const qk_items r = qk_items_of(units, p->m, qk_unit_rows(p->m));
    const ptrdiff_t y = (ptrdiff_t)r.batch * p->y_batch + (ptrdiff_t)r.first * p->n;
    qk_move(&in[QK_GEMM_PANELS_IN_X],
            ((ptrdiff_t)r.batch * p->x_batch + (ptrdiff_t)r.first * p->x_row) * 4);
    qk_move(&in[QK_GEMM_PANELS_IN_W], (ptrdiff_t)r.batch * p->w_batch * 4);
    qk_move(&in[QK_GEMM_PANELS_IN_RESIDUAL], y * 4);
    qk_move_result(&out[QK_GEMM_PANELS_OUT_Y], y * 4);
    p->batch = 1;
    p->m = r.count;
    return r.next;
  }
}

/* Any strides: a unit is an output. */
QK_INLINE int32_t qk_matmul_units(const qk_matmul_params* p) {
  return p->batch[0] * p->batch[1] * p->batch[2] * p->m * p->n;
}
QK_INLINE int32_t qk_matmul_subrange(qk_matmul_params* p, const void** in, void** out,
                                     const int32_t* units, ptrdiff_t bytes) {
  const qk_items r = qk_items_of(units, p->n, 1);
  const int32_t m = r.batch % p->m, l = r.batch / p->m % p->batch[2];
  const int32_t j = r.batch / p->m / p->batch[2] % p->batch[1];
  const int32_t i = r.batch / p->m / p->batch[2] / p->batch[1];
  qk_move(&in[QK_MATMUL_IN_LHS],
          bytes * ((ptrdiff_t)i * p->a_batch[0] + (ptrdiff_t)j * p->a_batch[1] +
                   (ptrdiff_t)l * p->a_batch[2] + (ptrdiff_t)m * p->a_m));
  qk_move(&in[QK_MATMUL_IN_RHS],
          bytes * ((ptrdiff_t)i * p->b_batch[0] + (ptrdiff_t)j * p->b_batch[1] +
                   (ptrdiff_t)l * p->b_batch[2] + (ptrdiff_t)r.first * p->b_n));
  qk_move(&in[QK_MATMUL_IN_BIAS],
          bytes * ((ptrdiff_t)m * p->bias_m + (ptrdiff_t)r.first * p->bias_n));
  qk_move_result(&out[QK_MATMUL_OUT_Y], bytes * units[0]);
  p->batch[0] = p->batch[1] = p->batch[2] = p->m = 1;
  p->n = r.count;
  return r.next;
}
#define QK_SPLIT_MATMUL(bytes)                                                                     \
  QK_INLINE int32_t qk_matmul_##bytes##_units(const qk_matmul_params* p) {                         \
    return qk_matmul_units(p);                                                                     \
  }                                                                                                \
  QK_INLINE int32_t qk_matmul_##bytes##_subrange(qk_matmul_params* p, const void** in, void** out, \
                                                 const int32_t* units) {                           \
    return qk_matmul_subrange(p, in, out, units, bytes);                                           \
  }
QK_SPLIT_MATMUL(1)
QK_SPLIT_MATMUL(2)
QK_SPLIT_MATMUL(4)
QK_SPLIT_MATMUL(8)

QK_SPLIT_RANGE(qk_grouped, qk_grouped_params, p->rows)

/* Weights to panels, a unit for each. */
QK_INLINE int32_t qk_gemm_pack_units(const qk_gemm_pack_params* p) {
  return p->batch * qk_units_of(p->n, 16);
}
QK_INLINE int32_t qk_gemm_pack_subrange(qk_gemm_pack_params* p, const void** in, void** out,
                                        const int32_t* units) {
  const qk_items r = qk_items_of(units, p->n, 16);
  qk_move(&in[QK_GEMM_PACK_IN_W],
          ((ptrdiff_t)r.batch * p->batch_step + (ptrdiff_t)r.first * p->n_step) * 4);
  qk_move_result(&out[QK_GEMM_PACK_OUT_PACKED], (ptrdiff_t)units[0] * p->k * 64);
  p->batch = 1;
  p->n = r.count;
  return r.next;
}
