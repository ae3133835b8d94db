/* Products of codes in parts: units are blocks of rows; of few rows, panels of outputs. */
#include "kernels/common/range.h"
#include "kernels/common/units.h"
#include "kernels/qgemm/operands.h"
#include "kernels/qgemm/qgemm.h"
#include "kernels/qtile/pack.h"

/* Some rows of one matrix. */
QK_INLINE int32_t qk_qgemm_rows_subrange(qk_qgemm_params* p, const void** x, const void** w,
                                         const void** x_scales, const void** x_zeros,
                                         const void** residual, void** y, const int32_t* units) {
  const qk_items r = qk_items_of(units, p->m, qk_unit_rows(p->m));
  const ptrdiff_t from = (ptrdiff_t)r.batch * p->x_batch + (ptrdiff_t)r.first * p->k;
  const ptrdiff_t to = (ptrdiff_t)r.batch * p->y_batch + (ptrdiff_t)r.first * p->n;
  const ptrdiff_t row = p->per_row ? (ptrdiff_t)r.batch * p->m + r.first : 0;
  qk_move(x, from * qk_code_bytes(p->x_type));
  qk_move(w, (ptrdiff_t)r.batch * p->w_batch);
  qk_move(x_scales, row * 4);
  qk_move(x_zeros, row * 4);
  QK_MOVE_CODES(p, residual, y, to);
  p->batch = 1;
  p->m = r.count;
  return r.next;
}

/* ---- weights in panels of 16 ---- */

QK_INLINE int32_t qk_qgemm_panels_units(const qk_qgemm_params* p) {
  return p->batch == 1 && p->m == 1 ? qk_units_of(p->n, 16)
                                    : p->batch * qk_units_of(p->m, qk_unit_rows(p->m));
}
QK_INLINE int32_t qk_qgemm_panels_subrange(qk_qgemm_params* p, const void** in, void** out,
                                           const int32_t* units) {
  if (p->batch == 1 && p->m == 1) {
    const qk_items r = qk_items_of(units, p->n, 16);
    qk_move(&in[QK_QGEMM_PANELS_IN_W], (ptrdiff_t)(r.first / 16) * ((p->k + 1) / 2) * 32);
    qk_move_outputs(&in[QK_QGEMM_PANELS_IN_BIAS], &in[QK_QGEMM_PANELS_IN_MULTIPLIERS],
                    &in[QK_QGEMM_PANELS_IN_FLOAT_BIAS], &in[QK_QGEMM_PANELS_IN_W_ZEROS], r.first,
                    p->epilogue.result.q31, 4);
    QK_MOVE_CODES(p, &in[QK_QGEMM_PANELS_IN_RESIDUAL], &out[QK_QGEMM_PANELS_OUT_Y],
                  (ptrdiff_t)r.first);
    qk_move(&in[QK_QGEMM_PANELS_IN_Y_ZEROS], (ptrdiff_t)r.first * 4);
    p->n = r.count;
    return r.next;
  }
  return qk_qgemm_rows_subrange(p, &in[QK_QGEMM_PANELS_IN_X], &in[QK_QGEMM_PANELS_IN_W],
                                &in[QK_QGEMM_PANELS_IN_X_SCALES], &in[QK_QGEMM_PANELS_IN_X_ZEROS],
                                &in[QK_QGEMM_PANELS_IN_RESIDUAL], &out[QK_QGEMM_PANELS_OUT_Y],
                                units);
}

/* ---- weights packed for a machine ---- */

QK_INLINE int32_t qk_packed_gemm_panels(const qk_qgemm_params* p, qk_panels panels_of) {
  const qk_pack_params pack = {1, p->n, p->k, {1, 1, 1}, 0, 0, 0, 0, 0};
  return qk_packed_layout(panels_of, &pack).panels;
}
QK_INLINE int32_t qk_packed_gemm_units(const qk_qgemm_params* p, qk_panels panels_of) {
  const int32_t rows = p->batch * qk_units_of(p->m, qk_unit_rows(p->m));
  const int32_t panels = qk_packed_gemm_panels(p, panels_of);
  return p->batch == 1 && qk_units_are_panels(rows, panels) ? panels : rows;
}
QK_INLINE int32_t qk_packed_gemm_subrange(qk_qgemm_params* p, const void** in, void** out,
                                          int32_t* units, qk_panels panels_of) {
  const int32_t rows = p->batch * qk_units_of(p->m, qk_unit_rows(p->m));
  if (p->batch == 1 && qk_units_are_panels(rows, qk_packed_gemm_panels(p, panels_of))) {
    units[2] = units[0];
    units[3] = units[1];
    in[QK_QGEMM_PACKED_IN_PANELS] = units + 2;
    return units[1];
  }
  return qk_qgemm_rows_subrange(p, &in[QK_QGEMM_PACKED_IN_X], &in[QK_QGEMM_PACKED_IN_W],
                                &in[QK_QGEMM_PACKED_IN_X_SCALES], &in[QK_QGEMM_PACKED_IN_X_ZEROS],
                                &in[QK_QGEMM_PACKED_IN_RESIDUAL], &out[QK_QGEMM_PACKED_OUT_Y],
                                units);
}
#define QK_SPLIT_PACKED_GEMM(machine, PANELS)                                                 \
  QK_INLINE int32_t qk_qgemm_packed_##machine##_units(const qk_qgemm_params* p) {             \
    const qk_panels panels_of = PANELS;                                                       \
    return qk_packed_gemm_units(p, panels_of);                                                \
  }                                                                                           \
  QK_INLINE int32_t qk_qgemm_packed_##machine##_subrange(qk_qgemm_params* p, const void** in, \
                                                         void** out, int32_t* units) {        \
    const qk_panels panels_of = PANELS;                                                       \
    return qk_packed_gemm_subrange(p, in, out, units, panels_of);                             \
  }
QK_SPLIT_PACKED_GEMM(avx512vnni, QK_PANELS_AVX512VNNI)
QK_SPLIT_PACKED_GEMM(avx2, QK_PANELS_AVX2)
QK_SPLIT_PACKED_GEMM(neon_dotprod, QK_PANELS_NEON_DOTPROD)

/* ---- any strides ---- */

QK_INLINE int32_t qk_qmatmul_units(const qk_qmatmul_params* p) {
  return p->batch[0] * p->batch[1] * p->batch[2] * qk_units_of(p->m, qk_unit_rows(p->m));
}
QK_INLINE int32_t qk_qmatmul_subrange(qk_qmatmul_params* p, const void** in, void** out,
                                      const int32_t* units, ptrdiff_t x_bytes, ptrdiff_t w_bytes) {
  const qk_items r = qk_items_of(units, p->m, qk_unit_rows(p->m));
  const ptrdiff_t row = (ptrdiff_t)r.batch * p->m + r.first;
  const int32_t l = r.batch % p->batch[2], j = r.batch / p->batch[2] % p->batch[1];
  const int32_t i = r.batch / p->batch[2] / p->batch[1];
  qk_move(&in[QK_QMATMUL_IN_X],
          x_bytes * ((ptrdiff_t)i * p->a_batch[0] + (ptrdiff_t)j * p->a_batch[1] +
                     (ptrdiff_t)l * p->a_batch[2] + (ptrdiff_t)r.first * p->k));
  qk_move(&in[QK_QMATMUL_IN_W],
          w_bytes * ((ptrdiff_t)i * p->b_batch[0] + (ptrdiff_t)j * p->b_batch[1] +
                     (ptrdiff_t)l * p->b_batch[2]));
  qk_move(&in[QK_QMATMUL_IN_X_SCALES], p->per_row ? row * 4 : 0);
  qk_move(&in[QK_QMATMUL_IN_X_ZEROS], p->per_row ? row * 4 : 0);
  QK_MOVE_CODES(p, &in[QK_QMATMUL_IN_RESIDUAL], &out[QK_QMATMUL_OUT_Y], row * p->n);
  p->batch[0] = p->batch[1] = p->batch[2] = 1;
  p->m = r.count;
  return r.next;
}
#define QK_SPLIT_QMATMUL(codes, X, W)                                                    \
  QK_INLINE int32_t qk_qmatmul_##codes##_units(const qk_qmatmul_params* p) {             \
    return qk_qmatmul_units(p);                                                          \
  }                                                                                      \
  QK_INLINE int32_t qk_qmatmul_##codes##_subrange(qk_qmatmul_params* p, const void** in, \
                                                  void** out, const int32_t* units) {    \
    return qk_qmatmul_subrange(p, in, out, units, X, W);                                 \
  }
#define QK_SPLIT_QMATMUL_OF(x, X) \
  QK_SPLIT_QMATMUL(x##_i8, X, 1)  \
  QK_SPLIT_QMATMUL(x##_u8, X, 1)  \
  QK_SPLIT_QMATMUL(x##_i16, X, 2) \
  QK_SPLIT_QMATMUL(x##_u16, X, 2)
QK_SPLIT_QMATMUL_OF(i8, 1)
QK_SPLIT_QMATMUL_OF(u8, 1)
QK_SPLIT_QMATMUL_OF(i16, 2)
QK_SPLIT_QMATMUL_OF(u16, 2)

/* ---- groups of rows ---- */

QK_SPLIT_RANGE(qk_qgrouped, qk_qgrouped_params, p->rows)

/* ---- weights to panels ---- */

QK_INLINE int32_t qk_qgemm_pack_units(const qk_qgemm_pack_params* p) {
  return p->batch * qk_units_of(p->n, 16);
}
QK_INLINE int32_t qk_qgemm_pack_subrange(qk_qgemm_pack_params* p, const void** in, void** out,
                                         const int32_t* units) {
  const qk_items r = qk_items_of(units, p->n, 16);
  qk_move(&in[QK_QGEMM_PACK_IN_W],
          (ptrdiff_t)r.batch * p->batch_step + (ptrdiff_t)r.first * p->n_step);
  qk_move_result(&out[QK_QGEMM_PACK_OUT_PACKED], (ptrdiff_t)units[0] * ((p->k + 1) / 2) * 32);
  p->batch = 1;
  p->n = r.count;
  return r.next;
}

/* ---- floats times codes: a unit is a panel of outputs, with weights decoded for itself ---- */

QK_INLINE int32_t qk_wgemm_units(const qk_wgemm_params* p) { return qk_units_of(p->n, 16); }
QK_INLINE int32_t qk_wgemm_subrange(qk_wgemm_params* p, const void** in, void** out,
                                    const int32_t* units) {
  (void)in;
  qk_move_result(&out[QK_WGEMM_PANELS_OUT_ROWS], (ptrdiff_t)units[0] * QK_W_ROWS(p->k) * 4);
  p->first = units[0];
  p->count = units[1] - units[0];
  return units[1];
}
