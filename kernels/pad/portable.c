#include <stddef.h>
#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/pad/pad.h"

/* Axis d of the result: i counts the operand's elements and is outside it in the frame. */
#define QK_PAD_FOR(d) for (int32_t i##d = -p->before[d]; i##d < p->dims[d] + p->after[d]; ++i##d)
#define QK_PAD_IN(d) (i##d >= 0 && i##d < p->dims[d])

#define QK_DEFINE_PAD(SIZE)                                                                     \
  QK_INLINE unsigned char* qk_pad_fill_##SIZE(unsigned char* y, const void* value, int32_t n) { \
    for (int32_t i = 0; i < n; ++i) memcpy(y + (size_t)i * SIZE, value, SIZE);                  \
    return y + (size_t)n * SIZE;                                                                \
  }                                                                                             \
  QK_INLINE void qk_pad_##SIZE(const qk_pad_params* p, const void* x, const void* value,        \
                               void* y) {                                                       \
    const unsigned char* from = (const unsigned char*)x;                                        \
    unsigned char* to = (unsigned char*)y;                                                      \
    const int32_t row = p->dims[7];                                                             \
    QK_PAD_FOR(0)                                                                               \
    QK_PAD_FOR(1) QK_PAD_FOR(2) QK_PAD_FOR(3) QK_PAD_FOR(4) QK_PAD_FOR(5) QK_PAD_FOR(6) {       \
      if (QK_PAD_IN(0) && QK_PAD_IN(1) && QK_PAD_IN(2) && QK_PAD_IN(3) && QK_PAD_IN(4) &&       \
          QK_PAD_IN(5) && QK_PAD_IN(6)) {                                                       \
        to = qk_pad_fill_##SIZE(to, value, p->before[7]);                                       \
        memcpy(to, from, (size_t)row* SIZE);                                                    \
        from += (size_t)row * SIZE;                                                             \
        to = qk_pad_fill_##SIZE(to + (size_t)row * SIZE, value, p->after[7]);                   \
      } else {                                                                                  \
        to = qk_pad_fill_##SIZE(to, value, p->before[7] + row + p->after[7]);                   \
      }                                                                                         \
    }                                                                                           \
  }

QK_DEFINE_PAD(1)
QK_DEFINE_PAD(2)
QK_DEFINE_PAD(4)
QK_DEFINE_PAD(8)
