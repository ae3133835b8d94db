#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/numerics/quant_q31.h"
#include "kernels/qresize/qresize.h"

/* The corners of one result: x11 at the first places of both axes, x21 at the second of axis 3. */
#define QK_QRESIZE_CORNER(a, b) \
  qk_load_code(x, p->type_x, (((o * p->in[0] + (a)) * p->mid + m) * p->in[1] + (b)) * p->inner + i)

QK_INLINE int32_t qk_qresize_code(const qk_qresize_params* p, int64_t sum) {
  if (p->q31) return qn_rescale_q31(sum, p->mantissa, p->shift, p->zero, p->lo, p->hi);
  return qn_rescale_wide(sum, p->multiplier, p->zero, p->lo, p->hi);
}

#define QK_QRESIZE_SUM(T)                                    \
  ((T)u1 * ((T)v1 * (x11 - p->zx) + (T)v2 * (x21 - p->zx)) + \
   (T)u2 * ((T)v1 * (x12 - p->zx) + (T)v2 * (x22 - p->zx)))
#define QK_WITH qk_qresize, int32_t, qk_qresize_code(p, QK_QRESIZE_SUM(int32_t))
#include "kernels/qresize/body.inc"
#define QK_WITH qk_qresize_wide, int32_t, qk_qresize_code(p, QK_QRESIZE_SUM(int64_t))
#include "kernels/qresize/body.inc"
#define QK_WITH qk_qresize_fixed, int32_t, QK_QRESIZE_SUM(int32_t) / ((int32_t)1 << 2 * p->bits)
#include "kernels/qresize/body.inc"
#define QK_WITH                                                                               \
  qk_qresize_ort, float,                                                                      \
      p->transposed ? qn_bilinear_code_ort(x11, x12, x21, x22, v1, v2, u1, u2, o >= p->twice) \
                    : qn_bilinear_code_ort(x11, x21, x12, x22, u1, u2, v1, v2, o >= p->twice)
#include "kernels/qresize/body.inc"
