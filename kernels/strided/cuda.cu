/* One unit is one element; it moves as bytes, so its type does not matter. */
#include <string.h>

#include "kernels/common/cuda.h"
#include "kernels/strided/strided.h"

#define QK_DEFINE_STRIDED_UNIT(SIZE)                                                           \
  QK_UNIT int64_t qk_strided_cuda_##SIZE##_units(const qk_strided_params* p) {                 \
    int64_t units = 1;                                                                         \
    for (int d = 0; d < 8; ++d) units *= p->dims[d];                                           \
    return units;                                                                              \
  }                                                                                            \
  QK_UNIT void qk_strided_cuda_##SIZE(const qk_strided_params* p, int64_t unit, const void* x, \
                                      void* y) {                                               \
    int64_t from = p->x_offset, to = p->y_offset;                                              \
    for (int d = 7; d >= 0; --d) {                                                             \
      const int64_t i = unit % p->dims[d];                                                     \
      unit /= p->dims[d];                                                                      \
      from += i * p->xs[d];                                                                    \
      to += i * p->ys[d];                                                                      \
    }                                                                                          \
    memcpy((unsigned char*)y + to * SIZE, (const unsigned char*)x + from * SIZE, SIZE);        \
  }
QK_DEFINE_STRIDED_UNIT(1)
QK_DEFINE_STRIDED_UNIT(2)
QK_DEFINE_STRIDED_UNIT(4)
QK_DEFINE_STRIDED_UNIT(8)
