#include "kernels/common/body.h"
#include "kernels/common/elementwise.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/chain.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/scan/scan.h"

#define QK_DEFINE_SCAN(op, s, S, T, LOAD, STORE, START, FN)                      \
  QK_INLINE void qk_scan_##op##_##s(const qk_scan_params* p, const S* x, S* y) { \
    const int32_t n = p->n, inner = p->inner;                                    \
    for (int32_t o = 0; o < p->outer; ++o) {                                     \
      for (int32_t i = 0; i < inner; ++i) {                                      \
        T sum = (START);                                                         \
        for (int32_t k = 0; k < n; ++k) {                                        \
          const int32_t at = (o * n + (p->reverse ? n - 1 - k : k)) * inner + i; \
          const T next = FN(sum, LOAD(x[at]));                                   \
          y[at] = STORE(p->exclusive ? sum : next);                              \
          sum = next;                                                            \
        }                                                                        \
      }                                                                          \
    }                                                                            \
  }
#define QK_DEFINE_EXTREME(op, s, S, T, LOAD, TAKE)                                              \
  QK_INLINE void qk_scan_##op##_##s(const qk_extreme_params* p, const S* x, S* y, int64_t* z) { \
    const int32_t n = p->n, inner = p->inner;                                                   \
    for (int32_t o = 0; o < p->outer; ++o)                                                      \
      for (int32_t i = 0; i < inner; ++i) {                                                     \
        int32_t best = 0;                                                                       \
        for (int32_t k = 0; k < n; ++k) {                                                       \
          const int32_t at = (o * n + k) * inner + i;                                           \
          const T v = LOAD(x[at]), b = LOAD(x[(o * n + best) * inner + i]);                     \
          if (TAKE(v, b)) best = k;                                                             \
          y[at] = x[(o * n + best) * inner + i];                                                \
          z[at] = best;                                                                         \
        }                                                                                       \
      }                                                                                         \
  }
#define QK_TAKE_MAX_FLOAT(v, b) ((v) >= (b) || (v) != (v))
#define QK_TAKE_MIN_FLOAT(v, b) ((v) <= (b) || (v) != (v))
#define QK_TAKE_MAX_INT(v, b) ((v) >= (b))
#define QK_TAKE_MIN_INT(v, b) ((v) <= (b))

#define QK_DEFINE_FLOAT_SCAN(op, s, S, T, t, LOAD, STORE)   \
  QK_DEFINE_SCAN(prod, s, S, T, LOAD, STORE, 1, qn_mul_##t) \
  QK_DEFINE_EXTREME(max, s, S, T, LOAD, QK_TAKE_MAX_FLOAT)  \
  QK_DEFINE_EXTREME(min, s, S, T, LOAD, QK_TAKE_MIN_FLOAT)
#define QK_DEFINE_INT_SCAN(op, s, S, T, t, LOAD, STORE)     \
  QK_DEFINE_SCAN(sum, s, S, T, LOAD, STORE, 0, qn_add_##t)  \
  QK_DEFINE_SCAN(prod, s, S, T, LOAD, STORE, 1, qn_mul_##t) \
  QK_DEFINE_EXTREME(max, s, S, T, LOAD, QK_TAKE_MAX_INT)    \
  QK_DEFINE_EXTREME(min, s, S, T, LOAD, QK_TAKE_MIN_INT)
#define QK_WITH f32, float, float, f32, QK_SAME, QK_SAME
#include "kernels/scan/chain.inc"
#define QK_WITH f64, double, double, f64, QK_SAME, QK_SAME
#include "kernels/scan/chain.inc"
#define QK_WITH f16, uint16_t, float, f32, qn_f16_to_f32, qn_f16_from_f32
#include "kernels/scan/chain.inc"
#define QK_WITH bf16, uint16_t, float, f32, qn_bf16_to_f32, qn_bf16_from_f32
#include "kernels/scan/chain.inc"
QK_FLOAT_TYPES(QK_DEFINE_FLOAT_SCAN, )
QK_INT_TYPES(QK_DEFINE_INT_SCAN, )
