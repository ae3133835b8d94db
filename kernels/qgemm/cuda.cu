/* One unit is one result; weights as the call has them. */
#include "kernels/common/cuda.h"
#include "kernels/qgemm/call.h"
#include "kernels/qtile/output.h"

QK_UNIT int64_t qk_qgemm_cuda_units(const qk_qgemm_call* p) {
  return (int64_t)p->batch * p->m * p->n;
}

/* Accumulators wrap on the way, the complete ones fit. */
QK_UNIT void qk_qgemm_cuda(const qk_qgemm_call* p, int64_t unit, const void* x, const void* w,
                           const void* bias, const void* multipliers, const void* float_bias,
                           const void* w_zeros, const void* x_scales, const void* x_zeros,
                           const void* residual, const void* y_zeros, void* y) {
  qk_q_output to =
      qk_q_output_of(&p->epilogue, multipliers, (const float*)float_bias, x_scales != 0, residual);
  const int64_t row = unit / p->n, batch = row / p->m, m = row % p->m;
  const int32_t n = (int32_t)(unit % p->n);
  const int64_t from = batch * p->x_batch + m * p->k, of = p->per_row ? row : 0;
  const uint8_t* wn = (const uint8_t*)w + batch * p->w_batch + (int64_t)n * p->w_n;
  const uint8_t flip = p->flip ? 0x80 : 0;
  const int32_t zero = x_zeros ? ((const int32_t*)x_zeros)[of] : p->x_zero;
  const int32_t w_zero = w_zeros ? ((const int32_t*)w_zeros)[n] : 0;
  uint32_t sum = bias ? (uint32_t)((const int32_t*)bias)[n] : 0;
  to.zeros = (const int32_t*)y_zeros;
  for (int32_t k = 0; k < p->k; ++k) {
    const int32_t code = (int8_t)(uint8_t)(wn[(int64_t)k * p->w_k] ^ flip);
    sum += (uint32_t)(qk_load_code(x, p->x_type, (ptrdiff_t)(from + k)) - zero) *
           (uint32_t)(code - w_zero);
  }
  qk_q_store(&to, (int32_t)sum, n, x_scales ? ((const float*)x_scales)[of] : 1.0f, y,
             (ptrdiff_t)(batch * p->y_batch + m * p->n + n));
}
