#include <stddef.h>

#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/common/quantize_epilogue.h"
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

/* Row r as floats; where x is codes, they are in the place of the result, `row`. */
QK_INLINE const float* qk_norm_floats(const qk_norm_quantize_params* p, const void* x, int32_t r,
                                      float* row) {
  const ptrdiff_t at = QK_NORM_ROW(p, r);
  if (p->x_type == QK_F32) return (const float*)x + at;
  qk_norm_decode(p, x, at, row);
  return row;
}

/* Floats of as many rows from r on as can be computed together; how many they are. */
QK_INLINE int32_t qk_norm_quantize_some(const qk_norm_quantize_params* p,
                                        const qk_quantize_epilogue* e, int32_t r, const void* x,
                                        const float* residual, const float* gamma,
                                        const float* beta, float* sums) {
#if QK_VEC16_REGISTERS
  const int32_t n = p->n, whole_result = e->to.keep || e->to.mode == QK_PER_TENSOR;
  qk_norm_row rows[QK_NORM_ROWS];
  if (!QK_NORM_BY_VECTORS(p, gamma) || r + QK_NORM_ROWS > p->rows) return 0;
  if (!whole_result && r % e->to.batch + QK_NORM_ROWS > e->to.batch) return 0;
  for (int i = 0; i < QK_NORM_ROWS; ++i, ++r) {
    rows[i].y = qk_epilogue_row(e, r, n);
    rows[i].x = qk_norm_floats(p, x, r, rows[i].y);
    rows[i].residual = residual ? residual + (ptrdiff_t)r * n : 0;
    rows[i].sums = sums ? sums + (ptrdiff_t)r * n : rows[i].y;
  }
  qk_norm_some(rows, n, p->center, p->eps, gamma, beta);
  return QK_NORM_ROWS;
#else
  (void)p, (void)e, (void)r, (void)x, (void)residual, (void)gamma, (void)beta, (void)sums;
  return 0;
#endif
}

/* Floats of row r alone. */
QK_INLINE void qk_norm_quantize_one(const qk_norm_quantize_params* p, const qk_quantize_epilogue* e,
                                    int32_t r, const void* x, const float* residual,
                                    const float* gamma, const float* beta, float* sums) {
  const int32_t n = p->n, per_group = p->inner > 0 ? n / p->inner : 0;
  float* row = qk_epilogue_row(e, r, n);
  const float* from = qk_norm_floats(p, x, r, row);
  if (residual) {
    const float* other = residual + (ptrdiff_t)r * n;
    float* sum = sums ? sums + (ptrdiff_t)r * n : row;
    for (int32_t i = 0; i < n; ++i) sum[i] = from[i] + other[i];
    from = sum;
  }
  qk_norm_row_f32(from, n, p->center, p->eps, gamma, beta, r % p->groups * per_group, p->inner, row,
                  0, 0);
}

QK_INLINE void qk_norm_quantize(const qk_norm_quantize_params* p, const void* x,
                                const float* residual, const float* gamma, const float* beta,
                                const float* scales, const int32_t* zeros, void* y, float* y_scales,
                                int32_t* y_zeros, float* sums, float* floats) {
  const qk_quantize_epilogue e = QK_EPILOGUE_OF(p);
  qk_range all = {0.0f, 0.0f};
  for (int32_t r = 0; r < p->rows;) {
    int32_t some = qk_norm_quantize_some(p, &e, r, x, residual, gamma, beta, sums);
    if (some == 0) {
      qk_norm_quantize_one(p, &e, r, x, residual, gamma, beta, sums);
      some = 1;
    }
    for (; some > 0; --some, ++r) qk_epilogue_finish_row(&e, r, p->rows, p->n, &all);
  }
  qk_epilogue_finish(&e, p->rows, p->n, &all);
}
