#include "kernels/c/inline.h"
#include "kernels/c/qgemm/qgemm.h"
#include "kernels/c/qgemm/tile.h"

QK_INLINE void qk_qgemm(const qk_qgemm_params* p, const void* x, const int8_t* w,
                        const int32_t* bias, const void* multipliers, const float* float_bias,
                        const int32_t* w_zeros, const float* x_scales, const int32_t* x_zeros,
                        void* y) {
  const qk_q_output out = QK_Q_OUTPUT(p, multipliers, float_bias, x_scales != 0);
  qk_qtile t;
  for (int i = 0; i < 3; ++i) {
    t.taps[i] = p->k > 0 ? 1 : 0;
    t.x_tap[i] = t.w_tap[i] = 0;
  }
  t.k = p->k;
  t.lead = 0;
  t.w_panel = (ptrdiff_t)((p->k + 1) / 2) * 32;
  t.x_type = p->x_type;
  t.x_size = p->x_type <= QK_U8 ? 1 : 2;
  t.x_row = (ptrdiff_t)p->k * t.x_size;
  t.y_row = p->n;
  t.x_zero = p->x_zero;
  t.per_row = p->per_row;
  t.x_zeros = x_zeros;
  t.x_scales = x_scales;
  t.bias = bias;
  t.w_zeros = w_zeros;
  t.out = out;
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const uint8_t* xb = (const uint8_t*)x + (ptrdiff_t)batch * p->x_batch * t.x_size;
    const int8_t* wb = w + (ptrdiff_t)batch * p->w_batch;
    if (p->per_row) {
      t.x_zeros = x_zeros ? x_zeros + (ptrdiff_t)batch * p->m : 0;
      t.x_scales = x_scales + (ptrdiff_t)batch * p->m;
    }
    for (int32_t o = 0; o < p->n;) {
      const int32_t panels = qk_qpanels_together((p->n - o + 15) / 16);
      const int32_t outputs = p->n - o < 16 * panels ? p->n - o : 16 * panels;
      t.channel = o;
      qk_run_qrows(&t, xb, wb + o / 16 * t.w_panel, y, (ptrdiff_t)batch * p->y_batch + o, p->m,
                   outputs, panels);
      o += outputs;
    }
  }
}

QK_INLINE void qk_qgemm_pack(const qk_qgemm_pack_params* p, const uint8_t* w, uint8_t* y) {
  const uint8_t flip = p->flip ? 0x80 : 0;
  for (int32_t batch = 0; batch < p->batch; ++batch) {
    const uint8_t* wb = w + (ptrdiff_t)batch * p->batch_step;
    for (int32_t panel = 0; panel < p->n; panel += 16) {
      for (int32_t k = 0; k < p->k; k += 2) {
        const uint8_t* wk = wb + (ptrdiff_t)k * p->k_step + (ptrdiff_t)panel * p->n_step;
        for (int32_t j = 0; j < 16; ++j) {
          const int in = panel + j < p->n;
          *y++ = in ? (uint8_t)(wk[(ptrdiff_t)j * p->n_step] ^ flip) : 0;
          *y++ =
              in && k + 1 < p->k ? (uint8_t)(wk[(ptrdiff_t)j * p->n_step + p->k_step] ^ flip) : 0;
        }
      }
    }
  }
}

#define QK_DEFINE_QMATMUL(suffix, X, W)                                                        \
  QK_INLINE void qk_qmatmul_##suffix(const qk_qmatmul_params* p, const X* a, const W* b,       \
                                     const int64_t* bias, const void* multipliers,             \
                                     const float* float_bias, const int32_t* w_zeros,          \
                                     const float* x_scales, const int32_t* x_zeros, void* y) { \
    const qk_q_output o = QK_Q_OUTPUT(p, multipliers, float_bias, x_scales != 0);              \
    ptrdiff_t row = 0;                                                                         \
    for (int32_t i = 0; i < p->batch[0]; ++i) {                                                \
      for (int32_t j = 0; j < p->batch[1]; ++j) {                                              \
        for (int32_t l = 0; l < p->batch[2]; ++l) {                                            \
          const X* ab = a + (ptrdiff_t)i * p->a_batch[0] + (ptrdiff_t)j * p->a_batch[1] +      \
                        (ptrdiff_t)l * p->a_batch[2];                                          \
          const W* bb = b + (ptrdiff_t)i * p->b_batch[0] + (ptrdiff_t)j * p->b_batch[1] +      \
                        (ptrdiff_t)l * p->b_batch[2];                                          \
          for (int32_t m = 0; m < p->m; ++m, ++row) {                                          \
            const ptrdiff_t of = p->per_row ? row : 0;                                         \
            const int32_t zero = x_zeros ? x_zeros[of] : p->x_zero;                            \
            const float scale = x_scales ? x_scales[of] : 1.0f;                                \
            for (int32_t n = 0; n < p->n; ++n) {                                               \
              const int64_t w_zero = w_zeros ? w_zeros[n] : 0;                                 \
              int64_t sum = bias ? bias[n] : 0;                                                \
              for (int32_t k = 0; k < p->k; ++k) {                                             \
                const W wv = bb[(ptrdiff_t)k * p->b_k + (ptrdiff_t)n * p->b_n];                \
                sum += (int64_t)(ab[(ptrdiff_t)m * p->k + k] - zero) * (wv - w_zero);          \
              }                                                                                \
              qk_q_put(&o, sum, n, scale, y, row * p->n + n);                                  \
            }                                                                                  \
          }                                                                                    \
        }                                                                                      \
      }                                                                                        \
    }                                                                                          \
  }
#define QK_DEFINE_QMATMUL_OF(x, X)       \
  QK_DEFINE_QMATMUL(x##_i8, X, int8_t)   \
  QK_DEFINE_QMATMUL(x##_u8, X, uint8_t)  \
  QK_DEFINE_QMATMUL(x##_i16, X, int16_t) \
  QK_DEFINE_QMATMUL(x##_u16, X, uint16_t)
QK_DEFINE_QMATMUL_OF(i8, int8_t)
QK_DEFINE_QMATMUL_OF(u8, uint8_t)
QK_DEFINE_QMATMUL_OF(i16, int16_t)
QK_DEFINE_QMATMUL_OF(u16, uint16_t)
