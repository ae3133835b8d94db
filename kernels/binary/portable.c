#include "kernels/binary/binary.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/scalar_ops.h"

#define QK_DEFINE_BINARY(op, s, S, T, t, LOAD, STORE)                                        \
  QK_INLINE void qk_binary_##op##_##s(const qk_broadcast2_params* p, const S* a, const S* b, \
                                      S* y) {                                                \
    QK_BROADCAST2(p, T, LOAD, STORE, qn_##op##_##t, QK_RUN2, a, b, y)                        \
  }
#define QK_DEFINE_BINARY_FAST(op, s, S, T, t, LOAD, STORE)                                   \
  QK_INLINE void qk_binary_##op##_##s(const qk_broadcast2_params* p, const S* a, const S* b, \
                                      S* y) {                                                \
    QK_BROADCAST2(p, T, LOAD, STORE, qn_##op##_##t, QK_RUN2_FAST, a, b, y)                   \
  }

#define QN_BINARY(op)                    \
  QK_F32_TYPE(QK_DEFINE_BINARY_FAST, op) \
  QK_OTHER_FLOAT_TYPES(QK_DEFINE_BINARY, op) QK_INT_TYPES(QK_DEFINE_BINARY, op)
#define QN_BINARY_F(op) QK_FLOAT_TYPES(QK_DEFINE_BINARY, op)
#define QN_BINARY_I(op) QK_INT_TYPES(QK_DEFINE_BINARY, op)
#include "kernels/numerics/scalar_ops.inc"

#define QK_DEFINE_BINARY_CLAMP(op)                                                               \
  QK_INLINE void qk_binary_##op##_clamp_f32(const qk_broadcast2_clamp_params* p, const float* a, \
                                            const float* b, float* y) {                          \
    const float lo = p->lo, hi = p->hi;                                                          \
    QK_BROADCAST2(p, float, QK_SAME, QK_SAME, QK_CLAMPED_##op, QK_RUN2_FAST, a, b, y)            \
  }
#define QK_CLAMPED_add(u, v) qn_clamp_f32(qn_add_f32(u, v), lo, hi)
#define QK_CLAMPED_sub(u, v) qn_clamp_f32(qn_sub_f32(u, v), lo, hi)
#define QK_CLAMPED_mul(u, v) qn_clamp_f32(qn_mul_f32(u, v), lo, hi)
QK_DEFINE_BINARY_CLAMP(add)
QK_DEFINE_BINARY_CLAMP(sub)
QK_DEFINE_BINARY_CLAMP(mul)

#undef QK_CLAMPED_add
#undef QK_CLAMPED_sub
#undef QK_CLAMPED_mul
#undef QK_DEFINE_BINARY_CLAMP
#undef QK_DEFINE_BINARY
#undef QK_DEFINE_BINARY_FAST
