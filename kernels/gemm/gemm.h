#ifndef QK_GEMM_H
#define QK_GEMM_H
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* Matrix products. Every output is one chain of fused multiply-adds over k ascending that starts at
 * the bias (0 without one); integers wrap.
 *
 * qk_gemm_f32       y[m, n] = r(clamp(bias[n] + sum x[m, k] * w[k, n], lo, hi)); w in panels
 *                   [ceil(n / 16)][k][16] made by qk_gemm_pack_f32. x, w, y advance by their
 *                   batch strides; `batch` matrices. r adds the residual (which lies like y) and
 *                   clamps to the limits of add_f32. Arguments: x, w, bias and residual (may be
 * null), y. qk_gemm_pack_f32  batches of a matrix with element (k, n) at k*k_step + n*n_step to
 * panels. qk_matmul_T       y[b, m, n] = bias + sum a[m, k] * b[k, n] with any strides, for every
 * type. The batch is up to three axes; strides of 0 broadcast. Arguments: a, b, bias (may be null:
 * element (m, n) at m*bias_m + n*bias_n), y.
 */
typedef struct {
  int32_t batch, m, n, k;
  int32_t x_batch, w_batch, y_batch;
  int32_t x_row; /* from row to row of x */
  float lo, hi;
  qk_add_f32_stage add_f32;
} qk_gemm_params;

typedef struct {
  int32_t batch, k, n;
  int32_t batch_step, k_step, n_step;
} qk_gemm_pack_params;

typedef struct {
  int32_t batch[3], a_batch[3], b_batch[3];
  int32_t m, n, k;
  int32_t a_m, a_k, b_k, b_n, bias_m, bias_n;
  float lo, hi;
} qk_matmul_params;

/* Rows offsets[e - 1] to offsets[e] of x [rows, k] times w[e], w [groups, k, n]; rows beyond the
 * last offset are 0. Arguments: x, w, offsets, y. */
typedef struct {
  int32_t rows, n, k, groups;
  int32_t first, count; /* rows, kernels/common/range.h */
} qk_grouped_params;

#endif
