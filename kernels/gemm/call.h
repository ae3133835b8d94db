#ifndef QK_GEMM_CALL_H
#define QK_GEMM_CALL_H
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* What ops ask of gemm: y [m, n] of floats x [m, k] and w. Weights are plain: element (k, n) of
 * matrix b at b*w_batch + k*w_k + n*w_n. `batch` matrices that advance by x_batch, w_batch, y_batch
 * elements; a w_batch of 0 is one matrix for all. The rest is as in kernels/gemm/gemm.h. */
typedef struct {
  int32_t batch, m, n, k;
  int32_t x_batch, y_batch;
  int32_t x_row;
  int32_t w_batch, w_k, w_n;
  float lo, hi;
  qk_add_f32_stage add_f32;
} qk_gemm_call;

#endif
