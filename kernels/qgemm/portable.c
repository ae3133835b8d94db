#include "kernels/common/inline.h"
#include "kernels/qgemm/qgemm.h"
#include "kernels/qgemm/tile.h"

QK_INLINE void qk_qgemm(const qk_qgemm_params* p, const void* x, const int8_t* w,
                        const int32_t* bias, const void* multipliers, const float* float_bias,
                        const int32_t* w_zeros, const float* x_scales, const int32_t* x_zeros,
                        const void* residual, void* y) {
  const qk_q_output out = QK_Q_OUTPUT(p, multipliers, float_bias, x_scales != 0, residual);
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
  t.simple = p->x_type <= QK_U8 && !x_zeros && !w_zeros;
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
                   outputs);
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

#define QK_DEFINE_QMATMUL(suffix, X, W)                                                     \
  QK_INLINE void qk_qmatmul_##suffix(                                                       \
      const qk_qmatmul_params* p, const X* a, const W* b, const int64_t* bias,              \
      const void* multipliers, const float* float_bias, const int32_t* w_zeros,             \
      const float* x_scales, const int32_t* x_zeros, const void* residual, void* y) {       \
    const qk_q_output o = QK_Q_OUTPUT(p, multipliers, float_bias, x_scales != 0, residual); \
    ptrdiff_t row = 0;                                                                      \
    for (int32_t i = 0; i < p->batch[0]; ++i) {                                             \
      for (int32_t j = 0; j < p->batch[1]; ++j) {                                           \
        for (int32_t l = 0; l < p->batch[2]; ++l) {                                         \
          const X* ab = a + (ptrdiff_t)i * p->a_batch[0] + (ptrdiff_t)j * p->a_batch[1] +   \
                        (ptrdiff_t)l * p->a_batch[2];                                       \
          const W* bb = b + (ptrdiff_t)i * p->b_batch[0] + (ptrdiff_t)j * p->b_batch[1] +   \
                        (ptrdiff_t)l * p->b_batch[2];                                       \
          for (int32_t m = 0; m < p->m; ++m, ++row) {                                       \
            const ptrdiff_t of = p->per_row ? row : 0;                                      \
            const int32_t zero = x_zeros ? x_zeros[of] : p->x_zero;                         \
            const float scale = x_scales ? x_scales[of] : 1.0f;                             \
            for (int32_t n = 0; n < p->n; ++n) {                                            \
              const int64_t w_zero = w_zeros ? w_zeros[n] : 0;                              \
              int64_t sum = bias ? bias[n] : 0;                                             \
              for (int32_t k = 0; k < p->k; ++k) {                                          \
                const W wv = bb[(ptrdiff_t)k * p->b_k + (ptrdiff_t)n * p->b_n];             \
                sum += (int64_t)(ab[(ptrdiff_t)m * p->k + k] - zero) * (wv - w_zero);       \
              }                                                                             \
              qk_q_store(&o, sum, n, scale, y, row * p->n + n);                             \
            }                                                                               \
          }                                                                                 \
        }                                                                                   \
      }                                                                                     \
    }                                                                                       \
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

/* ---- weights of codes, everything else floats ---- */

/* Inputs whose weights are decoded at a time. */
#define QK_W_CHUNK 4

/* n <= QK_W_CHUNK rows of 16 weights, from k on, to floats. */
QK_INLINE void qk_wgemm_decode(const qk_wgemm_params* p, const uint8_t* w, const float* scales,
                               const int32_t* zeros, int32_t k, int32_t n, float* to) {
  for (int32_t i = 0; i < n; ++i, to += 16) {
    const float* s = scales + (ptrdiff_t)((k + i) / p->group) * 16;
    int32_t code[16];
    if (p->nibbles) {
      const uint8_t* from = w + (ptrdiff_t)(k + i) * 8;
      for (int j = 0; j < 8; ++j) code[j] = from[j] & 15;
      for (int j = 0; j < 8; ++j) code[8 + j] = from[j] >> 4;
    } else {
      const int8_t* from = (const int8_t*)w + (ptrdiff_t)(k + i) * 16;
      for (int j = 0; j < 16; ++j) code[j] = from[j];
    }
    if (zeros) {
      const int32_t* z = zeros + (ptrdiff_t)((k + i) / p->group) * 16;
      for (int j = 0; j < 16; ++j) code[j] -= z[j];
    } else {
      for (int j = 0; j < 16; ++j) code[j] -= p->zero;
    }
    /* Only fused multiply-adds read the products, so they need no guard against contraction. */
    for (int j = 0; j < 16; ++j) to[j] = (float)code[j] * s[j];
  }
}

#define QK_DEFINE_WTILE(M)                                                                  \
  QK_SHARED void qk_wtile_##M(const qk_wgemm_params* p, const float* x, const uint8_t* w,   \
                              const float* scales, const int32_t* zeros, const float* bias, \
                              float* y, int32_t columns) {                                  \
    float rows[QK_W_CHUNK * 16];                                                            \
    qk_v16 acc[M];                                                                          \
    const qk_v16 start = bias ? qk_v16_load_n(bias, columns) : qk_v16_set(0.0f);            \
    QK_UNROLL for (int m = 0; m < M; ++m) acc[m] = start;                                   \
    for (int32_t k = 0; k < p->k; k += QK_W_CHUNK) {                                        \
      const int32_t n = p->k - k < QK_W_CHUNK ? p->k - k : QK_W_CHUNK;                      \
      qk_wgemm_decode(p, w, scales, zeros, k, n, rows);                                     \
      for (int32_t i = 0; i < n; ++i) {                                                     \
        const qk_v16 wv = qk_v16_load(rows + i * 16);                                       \
        QK_UNROLL for (int m = 0; m < M; ++m) {                                             \
          acc[m] = qk_v16_fma(qk_v16_set(x[(ptrdiff_t)m * p->k + k + i]), wv, acc[m]);      \
        }                                                                                   \
      }                                                                                     \
    }                                                                                       \
    QK_UNROLL for (int m = 0; m < M; ++m) {                                                 \
      qk_v16_store_n(y + (ptrdiff_t)m * p->n, acc[m], columns);                             \
    }                                                                                       \
  }
/* Rows together: what keeps the stack small where lanes are arrays. */
#if QK_VEC16_REGISTERS == 0
#define QK_W_ROWS 2
QK_DEFINE_WTILE(2)
#define qk_wtile_many qk_wtile_2
#else
#define QK_W_ROWS 4
QK_DEFINE_WTILE(4)
#define qk_wtile_many qk_wtile_4
#endif
QK_DEFINE_WTILE(1)

QK_INLINE void qk_wgemm(const qk_wgemm_params* p, const float* x, const uint8_t* w,
                        const float* scales, const int32_t* zeros, const float* bias, float* y) {
  const int32_t groups = (p->k + p->group - 1) / p->group;
  const ptrdiff_t panel = (ptrdiff_t)p->k * (p->nibbles ? 8 : 16);
  for (int32_t o = 0; o < p->n; o += 16) {
    const int32_t columns = p->n - o < 16 ? p->n - o : 16;
    const uint8_t* wo = w + o / 16 * panel;
    const float* so = scales + (ptrdiff_t)o * groups;
    const int32_t* zo = zeros ? zeros + (ptrdiff_t)o * groups : 0;
    const float* bo = bias ? bias + o : 0;
    int32_t m = 0;
    for (; m + QK_W_ROWS <= p->m; m += QK_W_ROWS) {
      qk_wtile_many(p, x + (ptrdiff_t)m * p->k, wo, so, zo, bo, y + (ptrdiff_t)m * p->n + o,
                    columns);
    }
    for (; m < p->m; ++m) {
      qk_wtile_1(p, x + (ptrdiff_t)m * p->k, wo, so, zo, bo, y + (ptrdiff_t)m * p->n + o, columns);
    }
  }
}
