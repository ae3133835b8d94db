/* The epilogue (kernels/qtile/gpu_epilogue.h) of products whose weights are packed as
 * kernels/qtile/qtile.h says: shared by all bodies that read them. */
#ifndef QK_QTILE_MMA_EPILOGUE_H
#define QK_QTILE_MMA_EPILOGUE_H

#include "kernels/qtile/gpu_epilogue.h"
#include "kernels/qtile/qtile.h"

/* What a call's accumulators become; the sums of weights lie behind these. */
QK_UNIT qk_q_epilogue qk_mma_epilogue_of(const qk_qtile_params* p, const void* w, const void* bias,
                                         const void* multipliers, const void* float_bias,
                                         const void* x_scales, const void* x_zeros,
                                         const void* residual, const void* y_zeros, void* y) {
  qk_q_epilogue epilogue = {
      qk_q_output_of(&p->epilogue, multipliers, (const float*)float_bias, x_scales != 0, residual),
      (const int32_t*)bias,
      (const int32_t*)((const uint8_t*)w + (int64_t)qk_mma_outputs(p) * qk_mma_depth(p)),
      (const float*)x_scales,
      (const int32_t*)x_zeros,
      p->oc,
      p->per_row,
      p->x_zero,
      y};
  epilogue.to.zeros = (const int32_t*)y_zeros;
  return epilogue;
}

#endif
