/* Weights of products on GPUs as kernels/qtile/qtile.h has them, from plain ones. */
#ifndef QK_QTILE_MMA_PACK_H
#define QK_QTILE_MMA_PACK_H

#include <string.h>

#include "kernels/qtile/qtile.h"

/* Where a weight is: output n, tap and input channel c at n*n_stride + tap*tap_stride + c*c_stride.
 * With `flip` codes are u8 that stand for their value less 128. */
typedef struct qk_mma_weights {
  int64_t taps, n_stride, tap_stride, c_stride;
  int32_t flip;
} qk_mma_weights;

/* Weights, and the sum of those of each output behind them. */
QK_INLINE int64_t qk_mma_packed_bytes(const qk_qtile_params* p) {
  return (int64_t)qk_mma_outputs(p) * qk_mma_depth(p) + 4 * (int64_t)p->oc;
}

/* `to` lies at a multiple of 4 bytes. */
QK_INLINE void qk_mma_pack(const qk_qtile_params* p, const qk_mma_weights* from, const uint8_t* w,
                           uint8_t* to) {
  const int64_t depth = qk_mma_depth(p), run = qk_mma_run(p);
  const int64_t terms = (int64_t)(p->lines ? p->k[2] : 1) * p->ic;
  uint8_t* const behind = to + qk_mma_outputs(p) * depth;
  memset(to, 0, (size_t)qk_mma_packed_bytes(p));
  for (int64_t n = 0; n < p->oc; ++n) {
    const int64_t row = qk_mma_row_of(qk_mma_shape_of(p->shape), (int32_t)n);
    int32_t sum = 0;
    for (int64_t k = 0; k < from->taps * p->ic; ++k) {
      const uint8_t own =
          w[n * from->n_stride + k / p->ic * from->tap_stride + k % p->ic * from->c_stride];
      const uint8_t code = (uint8_t)(own ^ (from->flip ? 0x80 : 0));
      to[row * depth + k / terms * run + k % terms] = code;
      sum += (int8_t)code;
    }
    memcpy(behind + 4 * n, &sum, 4);
  }
}

#endif
