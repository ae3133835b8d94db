#ifndef QK_QGEMM_CALL_H
#define QK_QGEMM_CALL_H
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* What ops ask of qgemm: y [m, n] of codes x [m, k] and codes w of 8 bits, accumulators proved to
 * fit 32 bits and x - x_zero 16 bits. Weights are plain: element (k, n) of matrix b at b*w_batch +
 * k*w_k + n*w_n, with `flip` codes u8 that stand for their value less 128. `batch` matrices that
 * advance by x_batch, w_batch, y_batch elements. The rest is as in kernels/qgemm/qgemm.h. */
typedef struct {
  int32_t batch, m, n, k;
  int32_t x_batch, y_batch;
  int32_t w_batch, w_k, w_n, flip;
  int32_t per_row;
  int32_t x_type, x_zero;
  qk_epilogue epilogue;
} qk_qgemm_call;

/* What ops ask of wgemm: y [m, n] of floats x [m, k] and codes w [n, k] of up to 8 bits as the
 * model has them. Scales, and zero points where they are not all `zero`, are [n][ceil(k / group)].
 * The rest is as in kernels/qgemm/qgemm.h. */
typedef struct {
  int32_t m, n, k;
  int32_t group, zero;
} qk_wgemm_call;

#endif
