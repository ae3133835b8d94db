/* Which calls the kernels with packed weights (kernels/qtile/pack.h) take; all others are the
 * portable kernel's. What a call has is a struct, so that all these kernels share the answer. */
#ifndef QK_QTILE_ACCEPTS_H
#define QK_QTILE_ACCEPTS_H

#include "kernels/qtile/output.h"

typedef struct qk_packed_call {
  int32_t x_type, x_zero;
  int32_t has_float_bias, has_w_zeros; /* operands that there are */
  int32_t has_x_scales, has_x_zeros, per_row, has_residual;
} qk_packed_call;

/* Codes u8 by weights of 8 bits without zero points; results are accumulators, floats (also with
 * scales of x that are known at run time only), or codes of 8 bits rescaled by f32 multipliers, to
 * which a residual of 8 bits may be added exactly or as ONNX Runtime does. Zero points of x per row
 * come with floats or accumulators only. */
QK_INLINE int qk_packed_accepts(const qk_packed_call* c, const qk_epilogue* e) {
  const float most = 1048576.0f, most_shift = 1e9f;
  if (c->x_type != QK_U8 || c->x_zero < 0 || c->x_zero > 255 || e->result.q31 || c->has_w_zeros)
    return 0;
  if (e->result.type == QK_I32) return !c->has_residual;
  if (e->result.type == QK_F32) return !c->has_residual;
  if (e->result.type > QK_U8 || c->has_float_bias || c->has_x_scales) return 0;
  if (c->has_x_zeros && c->per_row) return 0;
  if (!c->has_residual) return 1;
  if (e->add.kind == QK_R_ORT && !(e->add.shift < most_shift && e->add.shift > -most_shift))
    return 0;
  return (e->add.kind == QK_R_EXACT || e->add.kind == QK_R_ORT) && e->add.type <= QK_U8 &&
         e->add.y_type <= QK_U8 && e->add.ra < most && e->add.ra > -most && e->add.rb < most &&
         e->add.rb > -most;
}

#endif
