#include <stddef.h>

#include "kernels/common/inline.h"
#include "kernels/numerics/base.h"
#include "kernels/resize/resize.h"

#define QK_DEFINE_RESIZE(s, T, FMA)                                                         \
  QK_INLINE void qk_resize_##s(const qk_resize_params* p, const T* x, const int32_t* index, \
                               const T* weight, T* y) {                                     \
    const size_t inner = (size_t)p->inner;                                                  \
    for (int32_t o = 0; o < p->outer; ++o) {                                                \
      const int32_t* at = index;                                                            \
      const T* w = weight;                                                                  \
      for (int32_t j = 0; j < p->out; ++j) {                                                \
        if (at[0] < 0) {                                                                    \
          for (size_t i = 0; i < inner; ++i) y[i] = p->fill;                                \
        } else if (p->taps == 2) {                                                          \
          const T *a = x + (size_t)at[0] * inner, *b = x + (size_t)at[1] * inner;           \
          for (size_t i = 0; i < inner; ++i) y[i] = FMA(w[1], b[i], FMA(w[0], a[i], (T)0)); \
        } else {                                                                            \
          for (size_t i = 0; i < inner; ++i) {                                              \
            T sum = 0;                                                                      \
            for (int32_t t = 0; t < p->taps; ++t) {                                         \
              sum = FMA(w[t], x[(size_t)at[t] * inner + i], sum);                           \
            }                                                                               \
            y[i] = sum;                                                                     \
          }                                                                                 \
        }                                                                                   \
        at += p->taps;                                                                      \
        w += p->taps;                                                                       \
        y += inner;                                                                         \
      }                                                                                     \
      x += (size_t)p->in * inner;                                                           \
    }                                                                                       \
  }
QK_DEFINE_RESIZE(f32, float, qn_fmaf)
QK_DEFINE_RESIZE(f64, double, qn_fma)
#undef QK_DEFINE_RESIZE
