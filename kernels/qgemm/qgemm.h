#ifndef QK_QGEMM_H
#define QK_QGEMM_H
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* Matrix products of codes. The sum over k of (x - x_zero) * (w - w_zero) + bias is exact;
 * kernels/qtile/output.h states how it becomes a result.
 *
 * - qk_qgemm: y[m, n] of x [m, k] and w of 8 bits in panels [ceil(n / 16)][pairs of k][16][2];
 *   accumulators proved to fit 32 bits, x - x_zero 16 bits. `batch` matrices that advance by
 *   x_batch, y_batch (elements) and w_batch (bytes).
 * - qk_qgemm_pack: batches of a matrix of bytes with element (k, n) at k*k_step + n*n_step to
 *   panels; `flip` turns codes u8 to i8 less 128. Arguments: w, panels.
 * - qk_qmatmul_X_W: any strides, accumulators of 64 bits; the batch is up to three axes,
 *   strides of 0 broadcast.
 *
 * Arguments of products: x, w, bias (of the accumulators), multipliers, bias (float), zero points
 * of w (one per n), scales of x, zero points of x, residual, zero points of y (one per n), y.
 * Biases and all after them may be null; zero points of x and of y, where given, hold instead of
 * x_zero and y_zero. Scales and zero points of x are one for all, or with per_row one per row.
 */
typedef struct {
  int32_t batch, m, n, k;
  int32_t x_batch, w_batch, y_batch;
  int32_t per_row;
  int32_t x_type, x_zero;
  qk_epilogue epilogue;
} qk_qgemm_params;

typedef struct {
  int32_t batch, k, n;
  int32_t batch_step, k_step, n_step;
  int32_t flip;
} qk_qgemm_pack_params;

/* Weights that are packed when the program runs, see kernels/qtile/pack.h: `batch` matrices with
 * element (k, n) of matrix b at b*w_batch + k*w_k + n*w_n, blobs `each` bytes apart. */
typedef struct {
  int32_t batch, k, n;
  int32_t w_batch, w_k, w_n, flip, each;
} qk_qgemm_prepack_params;

typedef struct {
  int32_t batch[3], a_batch[3], b_batch[3];
  int32_t m, n, k;
  int32_t b_k, b_n;
  int32_t per_row;
  int32_t x_zero;
  qk_epilogue epilogue;
} qk_qmatmul_params;

/* Rows offsets[e - 1] to offsets[e] of codes x [rows, k] of 8 bits times w[e], w [groups, k, n] of
 * codes i8 with zero point 0; accumulators are proved to fit 32 bits. The result is f32(sum) *
 * (x_scale * multiplier), or the code of f32(sum) * multiplier; rows beyond the last offset are 0.
 * Offsets do not fall; what is beyond `rows` counts as `rows`.
 *
 * qgrouped           what ops call, weights plain.
 * qk_qgrouped_O      weights in panels as for qk_qgemm, one matrix after the other.
 * Arguments: x, w, offsets, multipliers [n], scales and zero points of x (null: none, x_zero; with
 * per_row one for each row), y. */
typedef struct {
  int32_t rows, groups, n, k;
  int32_t per_row, x_type, x_zero;
  qk_result_stage result;
  int32_t first, count; /* rows, kernels/common/range.h */
} qk_qgrouped_params;

/* qk_wgemm: y [m, n] of floats x [m, k] and codes of weights, decoded as they are needed, a block
 * of inputs of a panel once for all rows: each
 * output is one chain of fused multiply-adds over k ascending from the bias (or 0) on, a weight
 * being (code - zero point) * scale. Codes of 8 bits lie in panels [ceil(n / 16)][k][16]; with
 * `nibbles` codes 0 to 15 in [ceil(n / 16)][k][8], outputs j and j + 8 of a panel in the low and
 * high half of a byte. Scales lie in [ceil(n / 16)][ceil(k / group)][16]. Arguments: x, w, scales,
 * zero points (like scales; null: `zero` for all), bias (may be null), y, scratch of QK_W_ROWS
 * floats. */
#define QK_W_BLOCK 64
#define QK_W_ROWS(k) (((k) < QK_W_BLOCK ? (k) : QK_W_BLOCK) * 16)
typedef struct {
  int32_t m, n, k;
  int32_t group, nibbles, zero;
  int32_t first, count; /* panels of outputs, kernels/common/range.h */
} qk_wgemm_params;

/* qk_unsigned_codes   n codes i8 as u8, 128 more, and as many more for each of their `rows` zero
 *                     points. Arguments: x, zeros, y, y_zeros. */
typedef struct {
  int32_t n, rows;
} qk_unsigned_codes_params;

#endif
