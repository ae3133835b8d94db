#include "kernels/qgemm_naive/qgemm_naive.h"
#include "kernels/qtile/output.h"

QK_INLINE void qk_qgemm_naive(const qk_qgemm_call* p, const void* x, const int8_t* w,
                              const int32_t* bias, const void* multipliers, const float* float_bias,
                              const void* residual, void* y) {
  const qk_q_output out = qk_q_output_of(&p->epilogue, multipliers, float_bias, 0, residual);
  for (int32_t b = 0; b < p->batch; ++b) {
    for (int32_t m = 0; m < p->m; ++m) {
      const ptrdiff_t row = (ptrdiff_t)b * p->x_batch + (ptrdiff_t)m * p->k;
      const ptrdiff_t to = (ptrdiff_t)b * p->y_batch + (ptrdiff_t)m * p->n;
      for (int32_t n = 0; n < p->n; ++n) {
        const int8_t* column = w + ((ptrdiff_t)b * p->w_batch + (ptrdiff_t)n * p->w_n);
        int32_t sum = bias ? bias[n] : 0;
        for (int32_t k = 0; k < p->k; ++k) {
          const int32_t code = qk_load_code(x, p->x_type, row + k);
          sum += (code - p->x_zero) * column[(ptrdiff_t)k * p->w_k];
        }
        qk_q_store(&out, sum, n, 1.0f, y, to + n);
      }
    }
  }
}
