/* The logarithm of a running sum of exponentials: log(sum) + top, the sum being relative to the
 * largest term so far, so that nothing overflows and no error is carried from one logarithm to the
 * next. Starts with top = -inf and sum = 0; a NaN stays. */
#ifndef QN_LOGSUM_H
#define QN_LOGSUM_H

#include "scalar_ops.h"

#define QN_DEFINE_LOGSUM(t, T, FMA)              \
  QN_FN T qn_logsum_##t(T* top, T* sum, T v) {   \
    if (v < *top) {                              \
      *sum += qn_exp_##t(v - *top);              \
    } else if (v == *top) {                      \
      *sum += 1;                                 \
    } else if (v > *top) {                       \
      *sum = FMA(*sum, qn_exp_##t(*top - v), 1); \
      *top = v;                                  \
    } else {                                     \
      *top += v;                                 \
    }                                            \
    return *top + qn_log_##t(*sum);              \
  }
QN_DEFINE_LOGSUM(f32, float, qn_fmaf)
QN_DEFINE_LOGSUM(f64, double, qn_fma)
#undef QN_DEFINE_LOGSUM

#endif
