#include "kernels/common/inline.h"
#include "kernels/where/where.h"

#define QK_DEFINE_WHERE(s, S)                                                              \
  QK_INLINE void qk_where_##s(const qk_broadcast3_params* p, const uint8_t* c, const S* a, \
                              const S* b, S* y) {                                          \
    const int32_t last = p->rank - 1, n = p->dims[last];                                   \
    const int32_t sc = p->c[last], sa = p->a[last], sb = p->b[last];                       \
    int32_t index[8] = {0}, d = 0, total = 1;                                              \
    for (; d <= last; ++d) total *= p->dims[d];                                            \
    if (total == 0) return;                                                                \
    for (;;) {                                                                             \
      if (sc == 1 && sa == 1 && sb == 0) {                                                 \
        const S v = b[0];                                                                  \
        for (int32_t i = 0; i < n; ++i) y[i] = c[i] ? a[i] : v;                            \
      } else if (sc == 1 && sa == 0 && sb == 1) {                                          \
        const S v = a[0];                                                                  \
        for (int32_t i = 0; i < n; ++i) y[i] = c[i] ? v : b[i];                            \
      } else {                                                                             \
        for (int32_t i = 0; i < n; ++i) y[i] = c[i * sc] ? a[i * sa] : b[i * sb];          \
      }                                                                                    \
      y += n;                                                                              \
      for (d = last - 1; d >= 0 && ++index[d] == p->dims[d]; --d) {                        \
        index[d] = 0;                                                                      \
        c -= (p->dims[d] - 1) * p->c[d];                                                   \
        a -= (p->dims[d] - 1) * p->a[d];                                                   \
        b -= (p->dims[d] - 1) * p->b[d];                                                   \
      }                                                                                    \
      if (d < 0) return;                                                                   \
      c += p->c[d];                                                                        \
      a += p->a[d];                                                                        \
      b += p->b[d];                                                                        \
    }                                                                                      \
  }

QK_DEFINE_WHERE(f32, float)
QK_DEFINE_WHERE(f64, double)
QK_DEFINE_WHERE(u8, uint8_t)
QK_DEFINE_WHERE(u16, uint16_t)
QK_DEFINE_WHERE(u32, uint32_t)
QK_DEFINE_WHERE(u64, uint64_t)

#undef QK_DEFINE_WHERE
