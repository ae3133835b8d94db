#include <stddef.h>
#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/trilu/trilu.h"

/* A row keeps [first, last) and is zero elsewhere. */
#define QK_DEFINE_TRILU(SIZE)                                                                     \
  QK_INLINE void qk_trilu_##SIZE(const qk_trilu_params* p, const void* x, void* y) {              \
    const unsigned char* from = (const unsigned char*)x;                                          \
    unsigned char* to = (unsigned char*)y;                                                        \
    const size_t row = (size_t)p->columns * SIZE;                                                 \
    for (int32_t b = 0; b < p->batch; ++b) {                                                      \
      for (int32_t r = 0; r < p->rows; ++r) {                                                     \
        const int64_t edge = (int64_t)r + p->k + (p->upper ? 0 : 1);                              \
        const size_t cut = (size_t)(edge < 0 ? 0 : edge > p->columns ? p->columns : edge) * SIZE; \
        const size_t first = p->upper ? cut : 0, last = p->upper ? row : cut;                     \
        memmove(to + first, from + first, last - first);                                          \
        memset(to, 0, first);                                                                     \
        memset(to + last, 0, row - last);                                                         \
        from += row;                                                                              \
        to += row;                                                                                \
      }                                                                                           \
    }                                                                                             \
  }

QK_DEFINE_TRILU(1)
QK_DEFINE_TRILU(2)
QK_DEFINE_TRILU(4)
QK_DEFINE_TRILU(8)
