#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/numerics/quant_q31.h"
#include "kernels/qbinary/qbinary.h"

#define QK_QADD(p, a, b) \
  qn_add_codes(a, b, (p)->za, (p)->zb, (p)->ra, (p)->rb, (p)->zero, (p)->lo, (p)->hi)
#define QK_QADD_ORT(p, a, b) \
  qn_add_codes_ort(a, b, (p)->ra, (p)->rb, (p)->shift, (p)->lowest, (p)->lo, (p)->hi)
#define QK_QMUL(p, a, b) qn_mul_codes(a, b, (p)->za, (p)->zb, (p)->ra, (p)->zero, (p)->lo, (p)->hi)
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

#define QK_DEFINE_QBINARY(name, FN)                                                        \
  QK_INLINE void name(const qk_qbinary_params* p, const void* a, const void* b, void* y) { \
    const int32_t last = p->rank - 1, n = p->dims[last], sa = p->a[last], sb = p->b[last]; \
    int32_t index[8] = {0}, d = 0, total = 1;                                              \
    ptrdiff_t ia = 0, ib = 0, iy = 0;                                                      \
    for (; d <= last; ++d) total *= p->dims[d];                                            \
    if (total == 0) return;                                                                \
    for (;;) {                                                                             \
      for (int32_t i = 0; i < n; ++i) {                                                    \
        const int32_t ca = qk_load_code(a, p->type_a, ia + (ptrdiff_t)i * sa);             \
        const int32_t cb = qk_load_code(b, p->type_b, ib + (ptrdiff_t)i * sb);             \
        qk_store_code(y, p->type_y, iy + i, FN(p, ca, cb));                                \
      }                                                                                    \
      iy += n;                                                                             \
      for (d = last - 1; d >= 0 && ++index[d] == p->dims[d]; --d) {                        \
        index[d] = 0;                                                                      \
        ia -= (ptrdiff_t)(p->dims[d] - 1) * p->a[d];                                       \
        ib -= (ptrdiff_t)(p->dims[d] - 1) * p->b[d];                                       \
      }                                                                                    \
      if (d < 0) return;                                                                   \
      ia += p->a[d];                                                                       \
      ib += p->b[d];                                                                       \
    }                                                                                      \
  }
QK_DEFINE_QBINARY(qk_qadd, QK_QADD)
QK_DEFINE_QBINARY(qk_qadd_ort, QK_QADD_ORT)
QK_DEFINE_QBINARY(qk_qadd_f32, QK_QADD_F32)
QK_DEFINE_QBINARY(qk_qmul, QK_QMUL)
QK_DEFINE_QBINARY(qk_qmul_ort, QK_QMUL_ORT)
QK_DEFINE_QBINARY(qk_qmul_f32, QK_QMUL_F32)
QK_DEFINE_QBINARY(qk_qadd_q31, QK_QADD_Q31)
QK_DEFINE_QBINARY(qk_qmul_q31, QK_QMUL_Q31)
