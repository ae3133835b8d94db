#include "kernels/arg/arg.h"
#include "kernels/common/body.h"
#include "kernels/common/elementwise.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/scalar_ops.h"

/* ABOVE(a, b): a comes before b in descending order; BELOW: in ascending order. Of a NaN and a
 * number one of them holds, of two equal elements or two NaNs none. */
#define QK_ABOVE_FLOAT(a, b) (!((a) <= (b)) && (b) == (b))
#define QK_BELOW_FLOAT(a, b) (!((a) >= (b)) && (a) == (a))
#define QK_ABOVE_INT(a, b) ((a) > (b))
#define QK_BELOW_INT(a, b) ((a) < (b))
/* For arg_min NaN wins too. */
#define QK_LOW_FLOAT(a, b) (!((a) >= (b)) && (b) == (b))
#define QK_LOW_INT(a, b) ((a) < (b))

#define QK_DEFINE_ARG(op, s, S, T, LOAD, BEFORE)                                     \
  QK_INLINE void qk_arg_##op##_##s(const qk_arg_params* p, const S* x, int64_t* y) { \
    for (int32_t o = 0; o < p->outer; ++o, x += p->n * p->inner) {                   \
      for (int32_t i = 0; i < p->inner; ++i) {                                       \
        T best = LOAD(x[i]);                                                         \
        int32_t at = 0;                                                              \
        for (int32_t k = 1; k < p->n; ++k) {                                         \
          const T v = LOAD(x[k * p->inner + i]);                                     \
          if (BEFORE(v, best) || (p->last && !BEFORE(best, v))) best = v, at = k;    \
        }                                                                            \
        *y++ = at;                                                                   \
      }                                                                              \
    }                                                                                \
  }

#define QK_DEFINE_FLOAT_ARG(op, s, S, T, t, LOAD, STORE) \
  QK_DEFINE_ARG(max, s, S, T, LOAD, QK_ABOVE_FLOAT)      \
  QK_DEFINE_ARG(min, s, S, T, LOAD, QK_LOW_FLOAT)
#define QK_DEFINE_INT_ARG(op, s, S, T, t, LOAD, STORE) \
  QK_DEFINE_ARG(max, s, S, T, LOAD, QK_ABOVE_INT)      \
  QK_DEFINE_ARG(min, s, S, T, LOAD, QK_LOW_INT)
QK_FLOAT_TYPES(QK_DEFINE_FLOAT_ARG, )
QK_INT_TYPES(QK_DEFINE_INT_ARG, )
#define QK_WITH f32, float, float, QK_SAME, QK_ABOVE_FLOAT, QK_BELOW_FLOAT
#include "kernels/arg/sort.inc"
#define QK_WITH f64, double, double, QK_SAME, QK_ABOVE_FLOAT, QK_BELOW_FLOAT
#include "kernels/arg/sort.inc"
#define QK_WITH f16, uint16_t, float, qn_f16_to_f32, QK_ABOVE_FLOAT, QK_BELOW_FLOAT
#include "kernels/arg/sort.inc"
#define QK_WITH bf16, uint16_t, float, qn_bf16_to_f32, QK_ABOVE_FLOAT, QK_BELOW_FLOAT
#include "kernels/arg/sort.inc"
#define QK_WITH i8, int8_t, int8_t, QK_SAME, QK_ABOVE_INT, QK_BELOW_INT
#include "kernels/arg/sort.inc"
#define QK_WITH i16, int16_t, int16_t, QK_SAME, QK_ABOVE_INT, QK_BELOW_INT
#include "kernels/arg/sort.inc"
#define QK_WITH i32, int32_t, int32_t, QK_SAME, QK_ABOVE_INT, QK_BELOW_INT
#include "kernels/arg/sort.inc"
#define QK_WITH i64, int64_t, int64_t, QK_SAME, QK_ABOVE_INT, QK_BELOW_INT
#include "kernels/arg/sort.inc"
#define QK_WITH u8, uint8_t, uint8_t, QK_SAME, QK_ABOVE_INT, QK_BELOW_INT
#include "kernels/arg/sort.inc"
#define QK_WITH u16, uint16_t, uint16_t, QK_SAME, QK_ABOVE_INT, QK_BELOW_INT
#include "kernels/arg/sort.inc"
#define QK_WITH u32, uint32_t, uint32_t, QK_SAME, QK_ABOVE_INT, QK_BELOW_INT
#include "kernels/arg/sort.inc"
#define QK_WITH u64, uint64_t, uint64_t, QK_SAME, QK_ABOVE_INT, QK_BELOW_INT
#include "kernels/arg/sort.inc"

#define QK_DEFINE_HISTOGRAM(s, T, mul)                                              \
  QK_INLINE void qk_histogram_##s(const qk_histogram_params* p, const T* x, T* y) { \
    const T low = (T)p->low, high = (T)p->high, bins = (T)p->bins;                  \
    for (int32_t b = 0; b < p->bins; ++b) y[b] = 0;                                 \
    for (int32_t i = 0; i < p->n; ++i) {                                            \
      if (x[i] >= low && x[i] <= high) {                                            \
        const int32_t b = (int32_t)(mul(x[i] - low, bins) / (high - low));          \
        y[b < p->bins ? b : p->bins - 1] += 1;                                      \
      }                                                                             \
    }                                                                               \
  }
QK_DEFINE_HISTOGRAM(f32, float, qn_mulf)
QK_DEFINE_HISTOGRAM(f64, double, qn_mul)
