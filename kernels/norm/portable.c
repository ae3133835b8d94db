#include <stddef.h>

#include "kernels/common/inline.h"
#include "kernels/norm/norm.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"

/* Sums of a row, and of squares of its deviations, of 16-bit floats in f32. */
#define QK_DEFINE_NORM_SUMS(s, LOAD)                                                            \
  QN_DEFINE_REDUCE(qn_reduce_sum_##s, uint16_t, float, LOAD, 0.0f, QN_STEP_ADD, QN_JOIN_ADD)    \
  QN_DEFINE_REDUCE(qn_reduce_deviation_##s, uint16_t, float, LOAD, 0.0f, QN_STEP_DEVIATION_F32, \
                   QN_JOIN_ADD)
QK_DEFINE_NORM_SUMS(f16, qn_f16_to_f32)
QK_DEFINE_NORM_SUMS(bf16, qn_bf16_to_f32)

#define QK_DEFINE_NORM(suffix, S, T, t, FMA, MUL, LOAD, STORE)                            \
  QK_INLINE void qk_norm_##suffix(const qk_norm_params* p, const S* x, const S* gamma,    \
                                  const S* beta, S* y, T* means, T* rstds) {              \
    const int32_t n = p->n, per_group = p->inner > 0 ? n / p->inner : 0;                  \
    for (int32_t r = 0; r < p->rows; ++r) {                                               \
      const S* xr = x + (ptrdiff_t)r * n;                                                 \
      S* yr = y + (ptrdiff_t)r * n;                                                       \
      const int32_t channel = r % p->groups * per_group;                                  \
      const T mean = p->center ? qn_reduce_sum_##suffix(xr, n, 1, 0) / (T)n : 0;          \
      const T square = qn_reduce_deviation_##suffix(xr, n, 1, mean);                      \
      const T rstd = (T)1 / qn_sqrt_##t(square / (T)n + ((T)p->eps + (T)p->eps_rest));    \
      if (p->inner == 1 && gamma && beta) {                                               \
        const S *g = gamma + channel, *b = beta + channel;                                \
        for (int32_t i = 0; i < n; ++i)                                                   \
          yr[i] = STORE(FMA(MUL(LOAD(xr[i]) - mean, rstd), LOAD(g[i]), LOAD(b[i])));      \
      } else {                                                                            \
        for (int32_t i = 0; i < n; ++i) {                                                 \
          const int32_t c = channel + i / p->inner;                                       \
          T v = MUL(LOAD(xr[i]) - mean, rstd);                                            \
          if (gamma && beta) {                                                            \
            v = FMA(v, LOAD(gamma[c]), LOAD(beta[c]));                                    \
          } else if (gamma) {                                                             \
            v = MUL(v, LOAD(gamma[c]));                                                   \
          } else if (beta) {                                                              \
            v = v + LOAD(beta[c]);                                                        \
          }                                                                               \
          yr[i] = STORE(v);                                                               \
        }                                                                                 \
      }                                                                                   \
      if (means) means[r] = mean;                                                         \
      if (rstds) rstds[r] = rstd;                                                         \
    }                                                                                     \
  }                                                                                       \
  QK_INLINE void qk_scale_shift_##suffix(const qk_scale_shift_params* p, const S* x,      \
                                         const S* scale, const S* shift, S* y) {          \
    for (int32_t o = 0; o < p->outer; ++o) {                                              \
      if (p->inner == 1) {                                                                \
        for (int32_t c = 0; c < p->channels; ++c)                                         \
          y[c] = STORE(FMA(LOAD(x[c]), LOAD(scale[c]), LOAD(shift[c])));                  \
        x += p->channels;                                                                 \
        y += p->channels;                                                                 \
      } else {                                                                            \
        for (int32_t c = 0; c < p->channels; ++c, x += p->inner, y += p->inner) {         \
          const T s = LOAD(scale[c]), b = LOAD(shift[c]);                                 \
          for (int32_t i = 0; i < p->inner; ++i) y[i] = STORE(FMA(LOAD(x[i]), s, b));     \
        }                                                                                 \
      }                                                                                   \
    }                                                                                     \
  }                                                                                       \
  QK_INLINE void qk_lrn_##suffix(const qk_lrn_params* p, const S* x, S* y) {              \
    for (int32_t o = 0; o < p->outer; ++o) {                                              \
      const S* xo = x + (ptrdiff_t)o * p->channels * p->inner;                            \
      for (int32_t c = 0; c < p->channels; ++c) {                                         \
        const int32_t first = c > p->before ? c - p->before : 0;                          \
        const int32_t last = c + p->after < p->channels ? c + p->after : p->channels - 1; \
        for (int32_t i = 0; i < p->inner; ++i) {                                          \
          T sum = 0;                                                                      \
          for (int32_t k = first; k <= last; ++k) {                                       \
            const T e = LOAD(xo[(ptrdiff_t)k * p->inner + i]);                            \
            sum = FMA(e, e, sum);                                                         \
          }                                                                               \
          sum = qn_pow_##t(FMA((T)p->alpha, sum, (T)p->bias), (T)p->beta);                \
          *y++ = STORE(LOAD(xo[(ptrdiff_t)c * p->inner + i]) / sum);                      \
        }                                                                                 \
      }                                                                                   \
    }                                                                                     \
  }

#define QK_NORM_SAME(v) (v)
QK_DEFINE_NORM(f32, float, float, f32, qn_fmaf, qn_mulf, QK_NORM_SAME, QK_NORM_SAME)
QK_DEFINE_NORM(f64, double, double, f64, qn_fma, qn_mul, QK_NORM_SAME, QK_NORM_SAME)
QK_DEFINE_NORM(f16, uint16_t, float, f32, qn_fmaf, qn_mulf, qn_f16_to_f32, qn_f16_from_f32)
QK_DEFINE_NORM(bf16, uint16_t, float, f32, qn_fmaf, qn_mulf, qn_bf16_to_f32, qn_bf16_from_f32)
