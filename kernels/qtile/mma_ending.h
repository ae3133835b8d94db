/* The ending (kernels/qtile/ending.h) of products whose weights are packed as kernels/qtile/qtile.h
 * says: shared by all bodies that read them. */
#ifndef QK_QTILE_MMA_ENDING_H
#define QK_QTILE_MMA_ENDING_H

#include "kernels/qtile/ending.h"
#include "kernels/qtile/qtile.h"

/* What a call's accumulators become; the sums of weights lie behind these. */
QK_UNIT qk_q_ending qk_mma_ending_of(const qk_qtile_params* p, const void* w, const void* bias,
                                     const void* multipliers, const void* float_bias,
                                     const void* x_scales, const void* x_zeros,
                                     const void* residual, const void* y_zeros, void* y) {
  qk_q_ending ending = {
      qk_q_output_of(&p->epilogue, multipliers, (const float*)float_bias, x_scales != 0, residual),
      (const int32_t*)bias,
      (const int32_t*)((const uint8_t*)w + (int64_t)qk_mma_outputs(p) * qk_mma_depth(p)),
      (const float*)x_scales,
      (const int32_t*)x_zeros,
      p->oc,
      p->per_row,
      p->x_zero,
      y};
  ending.to.zeros = (const int32_t*)y_zeros;
  return ending;
}

#endif
