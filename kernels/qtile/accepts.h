/* Which calls the kernels with packed weights (kernels/qtile/pack.h) take; all others are the
 * portable kernel's. What a call has is a struct, so that all these kernels share the answer. */
#ifndef QK_QTILE_ACCEPTS_H
#define QK_QTILE_ACCEPTS_H

#include "kernels/qtile/output.h"

typedef struct qk_packed_call {
  int32_t x_type, x_zero, y_type, q31;
  int32_t has_float_bias, has_w_zeros; /* operands that there are */
  int32_t has_x_scales, has_x_zeros, per_row, has_residual;
  int32_t r_kind, r_type, r_y_type;
  float r_ra, r_rb, r_shift;
} qk_packed_call;

#define QK_PACKED_CALL(p, per_row, float_bias, w_zeros, x_scales, x_zeros, residual)          \
  {                                                                                           \
    (p)->x_type, (p)->x_zero, (p)->y_type, (p)->q31, (float_bias), (w_zeros), (x_scales),     \
        (x_zeros), (per_row), (residual), (p)->r_kind, (p)->r_type, (p)->r_y_type, (p)->r_ra, \
        (p)->r_rb, (p)->r_shift                                                               \
  }

/* Codes u8 by weights of 8 bits without zero points; results are accumulators, floats (also with
 * scales of x that are known at run time only), or codes of 8 bits rescaled by f32 multipliers, to
 * which a residual of 8 bits may be added exactly or as ONNX Runtime does. Zero points of x per row
 * come with floats or accumulators only. */
QK_INLINE int qk_packed_accepts(const qk_packed_call* c) {
  const float most = 1048576.0f, most_shift = 1e9f;
  if (c->x_type != QK_U8 || c->x_zero < 0 || c->x_zero > 255 || c->q31 || c->has_w_zeros) return 0;
  if (c->y_type == QK_I32) return !c->has_residual;
  if (c->y_type == QK_F32) return !c->has_residual;
  if (c->y_type > QK_U8 || c->has_float_bias || c->has_x_scales) return 0;
  if (c->has_x_zeros && c->per_row) return 0;
  if (!c->has_residual) return 1;
  if (c->r_kind == QK_R_ORT && !(c->r_shift < most_shift && c->r_shift > -most_shift)) return 0;
  return (c->r_kind == QK_R_EXACT || c->r_kind == QK_R_ORT) && c->r_type <= QK_U8 &&
         c->r_y_type <= QK_U8 && c->r_ra < most && c->r_ra > -most && c->r_rb < most &&
         c->r_rb > -most;
}

#endif
