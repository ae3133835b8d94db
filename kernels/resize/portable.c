#include <stddef.h>

#include "kernels/common/inline.h"
#include "kernels/numerics/base.h"
#include "kernels/resize/resize.h"

QK_INLINE void qk_resize_f32(const qk_resize_params* p, const float* x, const int32_t* index,
                             const float* weight, float* y) {
  const size_t inner = (size_t)p->inner;
  for (int32_t o = 0; o < p->outer; ++o) {
    const int32_t* at = index;
    const float* w = weight;
    for (int32_t j = 0; j < p->out; ++j) {
      if (at[0] < 0) {
        for (size_t i = 0; i < inner; ++i) y[i] = p->fill;
      } else if (p->taps == 2) {
        const float *a = x + (size_t)at[0] * inner, *b = x + (size_t)at[1] * inner;
        for (size_t i = 0; i < inner; ++i) y[i] = qn_fmaf(w[1], b[i], qn_fmaf(w[0], a[i], 0.0f));
      } else {
        for (size_t i = 0; i < inner; ++i) {
          float sum = 0.0f;
          for (int32_t t = 0; t < p->taps; ++t) {
            sum = qn_fmaf(w[t], x[(size_t)at[t] * inner + i], sum);
          }
          y[i] = sum;
        }
      }
      at += p->taps;
      w += p->taps;
      y += inner;
    }
    x += (size_t)p->in * inner;
  }
}
