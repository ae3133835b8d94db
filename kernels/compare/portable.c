#include "kernels/common/inline.h"
#include "kernels/compare/compare.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/scalar_ops.h"

#define QK_DEFINE_COMPARE(op, s, S, T, t, LOAD, STORE)                                        \
  QK_INLINE void qk_compare_##op##_##s(const qk_broadcast2_params* p, const S* a, const S* b, \
                                       uint8_t* y) {                                          \
    QK_BROADCAST2(p, T, LOAD, QK_SAME, qn_##op##_##t, QK_RUN2, a, b, y)                       \
  }

#define QN_COMPARE(op) QK_FLOAT_TYPES(QK_DEFINE_COMPARE, op) QK_INT_TYPES(QK_DEFINE_COMPARE, op)
#define QN_LOGICAL(op) QK_DEFINE_COMPARE(op, bool, uint8_t, uint8_t, bool, QK_SAME, QK_SAME)
#include "kernels/numerics/scalar_ops.inc"

#undef QK_DEFINE_COMPARE
