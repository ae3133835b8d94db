#include <stddef.h>

#include "kernels/c/attention/attention.h"
#include "kernels/c/inline.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"

#define QK_DEFINE_ATTENTION(suffix, M, MASK)                                                       \
  QK_INLINE void qk_attention_##suffix(const qk_attention_params *p, const float *x, const M *mask, \
                                       const int64_t *lens, float *y, float *copy) {               \
    const int32_t s = p->keys;                                                                     \
    for (int32_t row = 0; row < p->batch * p->heads * p->length; ++row) {                          \
      const int32_t b = row / (p->heads * p->length), h = row / p->length % p->heads;              \
      const int32_t l = row % p->length;                                                           \
      const float *xr = x + (ptrdiff_t)row * s;                                                    \
      float *yr = y + (ptrdiff_t)row * s, *cr = copy ? copy + (ptrdiff_t)row * s : 0;              \
      const M *mr = mask ? mask + (ptrdiff_t)b * p->mask_batch + (ptrdiff_t)h * p->mask_head +     \
                               (ptrdiff_t)l * p->mask_row                                          \
                         : 0;                                                                      \
      const int64_t at = l + (lens ? lens[b] - p->length : p->offset);                             \
      const int64_t known = lens ? lens[b] : s;                                                    \
      float top, sum;                                                                              \
      for (int32_t j = 0; j < s; ++j) {                                                            \
        float t = qn_mulf(xr[j], p->scale);                                                        \
        int hidden = j >= known || (p->causal && j > at) || (p->left >= 0 && at - j > p->left) ||  \
                     (p->right >= 0 && j - at > p->right);                                         \
        if (p->softcap > 0.0f) t = qn_mulf(p->softcap, qn_tanh_f32(t / p->softcap));               \
        if (cr && p->stage <= 1) cr[j] = t;                                                        \
        if (mr && j >= p->mask_s) hidden = 1;                                                      \
        if (mr && !hidden) MASK(mr[(ptrdiff_t)j * p->mask_key]);                                   \
        yr[j] = hidden ? -QN_INF_F32 : t;                                                          \
        if (cr && p->stage == 2) cr[j] = yr[j];                                                    \
      }                                                                                            \
      top = qn_row_max_f32(yr, s, 1);                                                              \
      if (top == -QN_INF_F32) {                                                                    \
        for (int32_t j = 0; j < s; ++j) yr[j] = 0.0f;                                              \
      } else {                                                                                     \
        for (int32_t j = 0; j < s; ++j) yr[j] = qn_exp_f32(yr[j] - top);                           \
        sum = qn_sum_f32(yr, s, 1);                                                                \
        for (int32_t j = 0; j < s; ++j) yr[j] = yr[j] / sum;                                       \
      }                                                                                            \
      if (cr && p->stage == 3) {                                                                   \
        for (int32_t j = 0; j < s; ++j) cr[j] = yr[j];                                             \
      }                                                                                            \
    }                                                                                              \
  }
#define QK_MASK_BOOL(m) hidden = !(m)
#define QK_MASK_F32(m) t = t + (m)
QK_DEFINE_ATTENTION(bool, uint8_t, QK_MASK_BOOL)
QK_DEFINE_ATTENTION(f32, float, QK_MASK_F32)

QK_INLINE void qk_rotary_f32(const qk_rotary_params *p, const float *x, const float *cosines,
                             const float *sines, float *y) {
  const int32_t next = p->interleaved ? 2 : 1, other = p->interleaved ? 1 : p->half;
  for (int32_t b = 0; b < p->batch; ++b) {
    for (int32_t h = 0; h < p->heads; ++h) {
      for (int32_t l = 0; l < p->length; ++l) {
        const ptrdiff_t at = (ptrdiff_t)b * p->heads * p->length * p->size +
                             (ptrdiff_t)h * p->step_head + (ptrdiff_t)l * p->step_row;
        const float *xr = x + at;
        float *yr = y + at;
        const float *c = cosines + (ptrdiff_t)b * p->cache_batch + (ptrdiff_t)l * p->half;
        const float *s = sines + (ptrdiff_t)b * p->cache_batch + (ptrdiff_t)l * p->half;
        for (int32_t i = 0; i < p->half; ++i) {
          const float u = xr[i * next], v = xr[i * next + other];
          yr[i * next] = qn_fmaf(u, c[i], -qn_mulf(v, s[i]));
          yr[i * next + other] = qn_fmaf(v, c[i], qn_mulf(u, s[i]));
        }
        for (int32_t i = 2 * p->half; i < p->size; ++i) yr[i] = xr[i];
      }
    }
  }
}
