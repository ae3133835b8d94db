#include <stddef.h>

#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/ending.h"
#include "kernels/common/inline.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/rows.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"

/* Sums of a row, and of squares of its deviations, of 16-bit floats in f32. */
#define QK_WITH qn_reduce_sum_f16, uint16_t, float, qn_f16_to_f32, 0.0f, QN_STEP_ADD, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH \
  qn_reduce_deviation_f16, uint16_t, float, qn_f16_to_f32, 0.0f, QN_STEP_DEVIATION_F32, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_sum_bf16, uint16_t, float, qn_bf16_to_f32, 0.0f, QN_STEP_ADD, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH                                                                           \
  qn_reduce_deviation_bf16, uint16_t, float, qn_bf16_to_f32, 0.0f, QN_STEP_DEVIATION_F32, \
      QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"

#define QK_NORM_SAME(v) (v)
#define QK_NORM_NONE(p, x, gamma, beta, y) 0
#define QK_WITH \
  f32, float, float, f32, qn_fmaf, qn_mulf, QK_NORM_SAME, QK_NORM_SAME, QK_NORM_VECTORS
#include "kernels/norm/body.inc"
#define QK_WITH f64, double, double, f64, qn_fma, qn_mul, QK_NORM_SAME, QK_NORM_SAME, QK_NORM_NONE
#include "kernels/norm/body.inc"
#define QK_WITH \
  f16, uint16_t, float, f32, qn_fmaf, qn_mulf, qn_f16_to_f32, qn_f16_from_f32, QK_NORM_NONE
#include "kernels/norm/body.inc"
#define QK_WITH \
  bf16, uint16_t, float, f32, qn_fmaf, qn_mulf, qn_bf16_to_f32, qn_bf16_from_f32, QK_NORM_NONE
#include "kernels/norm/body.inc"

/* n codes from element `from` on as floats. */
QK_INLINE void qk_norm_decode(const qk_norm_quantize_params* p, const void* x, ptrdiff_t from,
                              float* y) {
  const int32_t n = p->n, zero = p->x_zero;
  const float scale = p->x_scale;
  if (p->x_type == QK_I8) {
    const int8_t* codes = (const int8_t*)x + from;
    for (int32_t i = 0; i < n; ++i) y[i] = qn_dequantize(codes[i], scale, zero);
  } else {
    for (int32_t i = 0; i < n; ++i)
      y[i] = qn_dequantize(qk_load_code(x, p->x_type, from + i), scale, zero);
  }
}

#if QK_VEC16_REGISTERS
/* Floats of as many rows from r on as are computed together; how many that is. */
QK_INLINE int32_t qk_norm_quantize_some(const qk_norm_quantize_params* p, const qk_ending* e,
                                        int32_t r, const void* x, const float* residual,
                                        const float* gamma, const float* beta, float* sums) {
  const int32_t n = p->n, kept = e->keep || e->mode == QK_PER_TENSOR;
  const int32_t room =
      kept || e->batch - r % e->batch > p->rows - r ? p->rows - r : e->batch - r % e->batch;
  const int32_t some = room < QK_NORM_ROWS ? 1 : QK_NORM_ROWS;
  qk_norm_row rows[QK_NORM_ROWS];
  for (int32_t i = 0; i < some; ++i) {
    float* row = qk_ending_row(e, r + i, n);
    const ptrdiff_t at = QK_NORM_ROW(p, r + i);
    if (p->x_type != QK_F32) qk_norm_decode(p, x, at, row);
    rows[i].x = p->x_type == QK_F32 ? (const float*)x + at : row;
    rows[i].residual = residual ? residual + (ptrdiff_t)(r + i) * n : 0;
    rows[i].sums = sums ? sums + (ptrdiff_t)(r + i) * n : row;
    rows[i].y = row;
  }
  if (some == QK_NORM_ROWS) {
    qk_norm_some(rows, n, p->center, p->eps, gamma, beta, QK_NORM_ROWS);
  } else {
    qk_norm_some(rows, n, p->center, p->eps, gamma, beta, 1);
  }
  return some;
}
#endif

QK_INLINE void qk_norm_quantize(const qk_norm_quantize_params* p, const void* x,
                                const float* residual, const float* gamma, const float* beta,
                                const float* scales, const int32_t* zeros, void* y, float* y_scales,
                                int32_t* y_zeros, float* sums, float* floats) {
  const qk_ending e = QK_ENDING_OF(p);
  qk_range all = {0.0f, 0.0f};
  const int32_t n = p->n, per_group = p->inner > 0 ? n / p->inner : 0;
  for (int32_t r = 0; r < p->rows; ++r) {
#if QK_VEC16_REGISTERS
    if (QK_NORM_BY_VECTORS(p, gamma)) {
      const int32_t some = qk_norm_quantize_some(p, &e, r, x, residual, gamma, beta, sums);
      for (const int32_t last = r + some - 1; r < last; ++r)
        qk_ending_finish_row(&e, r, p->rows, n, &all);
      qk_ending_finish_row(&e, r, p->rows, n, &all);
      continue;
    }
#endif
    float* row = qk_ending_row(&e, r, n);
    const ptrdiff_t at = QK_NORM_ROW(p, r);
    const float* from = p->x_type == QK_F32 ? (const float*)x + at : row;
    if (p->x_type != QK_F32) qk_norm_decode(p, x, at, row);
    if (residual) {
      const float* other = residual + (ptrdiff_t)r * n;
      float* sum = sums ? sums + (ptrdiff_t)r * n : row;
      for (int32_t i = 0; i < n; ++i) sum[i] = from[i] + other[i];
      from = sum;
    }
    qk_norm_row_f32(from, n, p->center, p->eps, gamma, beta, r % p->groups * per_group, p->inner,
                    row, 0, 0);
    qk_ending_finish_row(&e, r, p->rows, n, &all);
  }
  qk_ending_finish(&e, p->rows, n, &all);
}
