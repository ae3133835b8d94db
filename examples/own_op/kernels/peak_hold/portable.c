#include "kernels/common/inline.h"
#include "kernels/numerics/base.h"
#include "kernels/peak_hold/peak_hold.h"

QK_INLINE void qk_peak_hold_f32(const qk_peak_hold_params* p, const float* x, float* y) {
  for (int32_t r = 0; r < p->rows; ++r) {
    float held = 0;
    for (int32_t k = 0; k < p->n; ++k) {
      const int32_t at = r * p->n + k;
      const float left = k == 0 ? x[at] : qn_mulf(held, p->decay);
      held = left > x[at] ? left : x[at];
      y[at] = held;
    }
  }
}
