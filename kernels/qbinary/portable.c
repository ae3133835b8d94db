#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/numerics/quant_q31.h"
#include "kernels/qbinary/qbinary.h"

#define QK_QADD(p, a, b) \
  qn_add_codes(a, b, (p)->za, (p)->zb, (p)->ra, (p)->rb, (p)->zero, (p)->lo, (p)->hi)
#define QK_QADD_ORT(p, a, b) \
  qn_add_codes_ort(a, b, (p)->ra, (p)->rb, (p)->shift, (p)->lowest, (p)->lo, (p)->hi)
#define QK_QMUL(p, a, b)                                                              \
  ((p)->type_a <= QK_U8 && (p)->type_b <= QK_U8                                       \
       ? qn_mul_codes_8(a, b, (p)->za, (p)->zb, (p)->ra, (p)->zero, (p)->lo, (p)->hi) \
       : qn_mul_codes(a, b, (p)->za, (p)->zb, (p)->ra, (p)->zero, (p)->lo, (p)->hi))
#define QK_QMUL_ORT(p, a, b) \
  qn_mul_codes_ort(a, b, (p)->za, (p)->zb, (p)->ra, (p)->zero, (p)->lowest, (p)->lo, (p)->hi)
#define QK_QDECODED(p, v) qn_encode(v, (p)->divisor, (p)->reciprocal, (p)->zero, (p)->lo, (p)->hi)
#define QK_QADD_F32(p, a, b) \
  QK_QDECODED(p, qn_dequantize(a, (p)->ra, (p)->za) + qn_dequantize(b, (p)->rb, (p)->zb))
#define QK_QMUL_F32(p, a, b) \
  QK_QDECODED(p, qn_mulf(qn_dequantize(a, (p)->ra, (p)->za), qn_dequantize(b, (p)->rb, (p)->zb)))
#define QK_QADD_Q31(p, a, b)                                                                  \
  qn_add_codes_q31(a, b, (p)->za, (p)->zb, (p)->ma, (p)->mb, (p)->mshift, (p)->zero, (p)->lo, \
                   (p)->hi)
#define QK_QMUL_Q31(p, a, b)                                                                  \
  qn_rescale_q31((int64_t)((a) - (p)->za) * ((b) - (p)->zb), (p)->ma, (p)->mshift, (p)->zero, \
                 (p)->lo, (p)->hi)

#define QK_WITH qk_qadd, QK_QADD
#include "kernels/qbinary/body.inc"
#define QK_WITH qk_qadd_ort, QK_QADD_ORT
#include "kernels/qbinary/body.inc"
#define QK_WITH qk_qadd_f32, QK_QADD_F32
#include "kernels/qbinary/body.inc"
#define QK_WITH qk_qmul, QK_QMUL
#include "kernels/qbinary/body.inc"
#define QK_WITH qk_qmul_ort, QK_QMUL_ORT
#include "kernels/qbinary/body.inc"
#define QK_WITH qk_qmul_f32, QK_QMUL_F32
#include "kernels/qbinary/body.inc"
#define QK_WITH qk_qadd_q31, QK_QADD_Q31
#include "kernels/qbinary/body.inc"
#define QK_WITH qk_qmul_q31, QK_QMUL_Q31
#include "kernels/qbinary/body.inc"
