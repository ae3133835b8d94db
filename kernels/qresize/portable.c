#include "kernels/common/codes.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/numerics/quant_q31.h"
#include "kernels/qresize/qresize.h"

/* The corners of one result: x11 at the first places of both axes, x21 at the second of axis 3. */
#define QK_QRESIZE_CORNER(a, b) \
  qk_load_code(x, p->type_x, (((o * p->in[0] + (a)) * p->mid + m) * p->in[1] + (b)) * p->inner + i)

#define QK_DEFINE_QRESIZE(name, WEIGHT, RESULT)                                           \
  QK_INLINE void name(const qk_qresize_params* p, const void* x, const int32_t* rows,     \
                      const WEIGHT* row_weights, const int32_t* columns,                  \
                      const WEIGHT* column_weights, void* y) {                            \
    ptrdiff_t at = 0;                                                                     \
    for (ptrdiff_t o = 0; o < p->outer; ++o) {                                            \
      for (ptrdiff_t j = 0; j < p->out[0]; ++j) {                                         \
        const WEIGHT u1 = row_weights[2 * j], u2 = row_weights[2 * j + 1];                \
        for (ptrdiff_t m = 0; m < p->mid; ++m) {                                          \
          for (ptrdiff_t k = 0; k < p->out[1]; ++k) {                                     \
            const WEIGHT v1 = column_weights[2 * k], v2 = column_weights[2 * k + 1];      \
            for (ptrdiff_t i = 0; i < p->inner; ++i, ++at) {                              \
              const int32_t x11 = QK_QRESIZE_CORNER(rows[2 * j], columns[2 * k]);         \
              const int32_t x21 = QK_QRESIZE_CORNER(rows[2 * j], columns[2 * k + 1]);     \
              const int32_t x12 = QK_QRESIZE_CORNER(rows[2 * j + 1], columns[2 * k]);     \
              const int32_t x22 = QK_QRESIZE_CORNER(rows[2 * j + 1], columns[2 * k + 1]); \
              qk_store_code(y, p->type_y, at, RESULT);                                    \
            }                                                                             \
          }                                                                               \
        }                                                                                 \
      }                                                                                   \
    }                                                                                     \
  }

QK_INLINE int32_t qk_qresize_code(const qk_qresize_params* p, int64_t sum) {
  if (p->q31) return qn_rescale_q31(sum, p->mantissa, p->shift, p->zero, p->lo, p->hi);
  return qn_rescale_wide(sum, p->multiplier, p->zero, p->lo, p->hi);
}

#define QK_QRESIZE_SUM(T)                                    \
  ((T)u1 * ((T)v1 * (x11 - p->zx) + (T)v2 * (x21 - p->zx)) + \
   (T)u2 * ((T)v1 * (x12 - p->zx) + (T)v2 * (x22 - p->zx)))
QK_DEFINE_QRESIZE(qk_qresize, int32_t, qk_qresize_code(p, QK_QRESIZE_SUM(int32_t)))
QK_DEFINE_QRESIZE(qk_qresize_wide, int32_t, qk_qresize_code(p, QK_QRESIZE_SUM(int64_t)))
QK_DEFINE_QRESIZE(qk_qresize_fixed, int32_t, QK_QRESIZE_SUM(int32_t) / ((int32_t)1 << 2 * p->bits))
QK_DEFINE_QRESIZE(qk_qresize_ort, float,
                  p->turned
                      ? qn_bilinear_code_ort(x11, x12, x21, x22, v1, v2, u1, u2, o >= p->twice)
                      : qn_bilinear_code_ort(x11, x21, x12, x22, u1, u2, v1, v2, o >= p->twice))
