#include "kernels/common/elementwise.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/unary/unary.h"

#define QK_DEFINE_UNARY(op, s, S, T, t, LOAD, STORE)                               \
  QK_INLINE void qk_unary_##op##_##s(const qk_unary_params* p, const S* x, S* y) { \
    for (int32_t i = 0; i < p->n; ++i) y[i] = STORE(qn_##op##_##t(LOAD(x[i])));    \
  }
#define QK_DEFINE_SCALED(op, s, S, T, t, LOAD, STORE)                                     \
  QK_INLINE void qk_unary_##op##_##s(const qk_unary_scaled_params* p, const S* x, S* y) { \
    const T a = (T)p->a, b = (T)p->b;                                                     \
    for (int32_t i = 0; i < p->n; ++i) y[i] = STORE(qn_##op##_##t(LOAD(x[i]), a, b));     \
  }
#define QK_DEFINE_SCALED_F64(op)                                                                  \
  QK_INLINE void qk_unary_##op##_f64(const qk_unary_params* p, const double* x, const double* ab, \
                                     double* y) {                                                 \
    const double a = ab[0], b = ab[1];                                                            \
    for (int32_t i = 0; i < p->n; ++i) y[i] = qn_##op##_f64(x[i], a, b);                          \
  }
#define QK_DEFINE_PREDICATE(op, s, S, T, t, LOAD, STORE)                                 \
  QK_INLINE void qk_unary_##op##_##s(const qk_unary_params* p, const S* x, uint8_t* y) { \
    for (int32_t i = 0; i < p->n; ++i) y[i] = (uint8_t)(qn_##op##_##t(LOAD(x[i])) != 0); \
  }

#define QN_UNARY_F(op) QK_FLOAT_TYPES(QK_DEFINE_UNARY, op)
#define QN_UNARY(op) QK_FLOAT_TYPES(QK_DEFINE_UNARY, op) QK_INT_TYPES(QK_DEFINE_UNARY, op)
#define QN_UNARY_I(op) QK_INT_TYPES(QK_DEFINE_UNARY, op)
#define QN_UNARY_P(op, p, q)            \
  QK_F32_TYPE(QK_DEFINE_SCALED, op)     \
  QK_16_BIT_TYPES(QK_DEFINE_SCALED, op) \
  QK_DEFINE_SCALED_F64(op)
#define QN_PREDICATE(op) QK_FLOAT_TYPES(QK_DEFINE_PREDICATE, op)
#include "kernels/numerics/scalar_ops.inc"

QK_DEFINE_UNARY(not, bool, uint8_t, uint8_t, bool, QK_SAME, QK_SAME)

#undef QK_DEFINE_UNARY
#undef QK_DEFINE_SCALED
#undef QK_DEFINE_SCALED_F64
#undef QK_DEFINE_PREDICATE
