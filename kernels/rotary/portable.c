#include "kernels/common/inline.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/half.h"
#include "kernels/rotary/rotary.h"

#define QK_FMA_f32 qn_fmaf
#define QK_FMA_f64 qn_fma
#define QK_DEFINE_ROTARY(op, suffix, S, T, t, LOAD, STORE)                                  \
  QK_INLINE void qk_rotary_##suffix(const qk_rotary_params* p, const S* x, const S* cosine, \
                                    const S* sine, S* y) {                                  \
    const int32_t last = p->rank - 1, n = p->dims[last];                                    \
    const int32_t sc = p->c[last], ss = p->s[last];                                         \
    const int32_t step = p->interleaved ? 2 : 1, apart = p->interleaved ? 1 : n / 2;        \
    int32_t index[8] = {0}, d = 0, total = 1;                                               \
    for (; d <= last; ++d) total *= p->dims[d];                                             \
    if (total == 0) return;                                                                 \
    for (;;) {                                                                              \
      for (int32_t k = 0; k < n / 2; ++k) {                                                 \
        const int32_t i = k * step, j = i + apart;                                          \
        const T a = LOAD(x[i]), b = LOAD(x[j]);                                             \
        const T ac = a * LOAD(cosine[i * sc]), bc = b * LOAD(cosine[j * sc]);               \
        y[i] = STORE(QK_FMA_##t(-b, LOAD(sine[i * ss]), ac));                               \
        y[j] = STORE(QK_FMA_##t(a, LOAD(sine[j * ss]), bc));                                \
      }                                                                                     \
      x += n;                                                                               \
      y += n;                                                                               \
      for (d = last - 1; d >= 0 && ++index[d] == p->dims[d]; --d) {                         \
        index[d] = 0;                                                                       \
        cosine -= (p->dims[d] - 1) * p->c[d];                                               \
        sine -= (p->dims[d] - 1) * p->s[d];                                                 \
      }                                                                                     \
      if (d < 0) return;                                                                    \
      cosine += p->c[d];                                                                    \
      sine += p->s[d];                                                                      \
    }                                                                                       \
  }

QK_FLOAT_TYPES(QK_DEFINE_ROTARY, rotary)

#undef QK_DEFINE_ROTARY
#undef QK_FMA_f32
#undef QK_FMA_f64
