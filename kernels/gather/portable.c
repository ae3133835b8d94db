#include <stddef.h>
#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/gather/gather.h"
#include "kernels/numerics/index.h"

#define QK_GATHER_FOR(d) for (int32_t i##d = 0; i##d < p->dims[d]; ++i##d)

#define QK_DEFINE_GATHER(suffix, T)                                                             \
  QK_INLINE void qk_gather_##suffix(const qk_gather_params* p, const void* x, const T* index,   \
                                    void* y) {                                                  \
    const unsigned char* from = (const unsigned char*)x;                                        \
    unsigned char* to = (unsigned char*)y;                                                      \
    const size_t block = (size_t)p->block;                                                      \
    for (int32_t o = 0; o < p->outer; ++o) {                                                    \
      for (int32_t i = 0; i < p->count; ++i) {                                                  \
        memcpy(to, from + (size_t)qn_index(index[i], p->size) * block, block);                  \
        to += block;                                                                            \
      }                                                                                         \
      from += (size_t)p->size * block;                                                          \
    }                                                                                           \
  }                                                                                             \
  QK_INLINE void qk_gather_elements_##suffix(const qk_gather_elements_params* p, const void* x, \
                                             const T* index, void* y) {                         \
    const unsigned char* from = (const unsigned char*)x;                                        \
    unsigned char* to = (unsigned char*)y;                                                      \
    const size_t block = (size_t)p->block;                                                      \
    QK_GATHER_FOR(0)                                                                            \
    QK_GATHER_FOR(1)                                                                            \
    QK_GATHER_FOR(2)                                                                            \
    QK_GATHER_FOR(3) QK_GATHER_FOR(4) QK_GATHER_FOR(5) QK_GATHER_FOR(6) QK_GATHER_FOR(7) {      \
      const int64_t at = (int64_t)i0 * p->xs[0] + (int64_t)i1 * p->xs[1] +                      \
                         (int64_t)i2 * p->xs[2] + (int64_t)i3 * p->xs[3] +                      \
                         (int64_t)i4 * p->xs[4] + (int64_t)i5 * p->xs[5] +                      \
                         (int64_t)i6 * p->xs[6] + (int64_t)i7 * p->xs[7] +                      \
                         qn_index(*index++, p->size) * p->stride;                               \
      memcpy(to, from + (size_t)at * block, block);                                             \
      to += block;                                                                              \
    }                                                                                           \
  }                                                                                             \
  QK_INLINE void qk_gather_nd_##suffix(const qk_gather_nd_params* p, const void* x,             \
                                       const T* index, void* y) {                               \
    const unsigned char* from = (const unsigned char*)x;                                        \
    unsigned char* to = (unsigned char*)y;                                                      \
    const size_t block = (size_t)p->block;                                                      \
    for (int32_t b = 0; b < p->batch; ++b) {                                                    \
      for (int32_t i = 0; i < p->rows; ++i) {                                                   \
        int64_t at = 0;                                                                         \
        for (int32_t d = 0; d < p->depth; ++d) {                                                \
          at = at * p->dims[d] + qn_index(*index++, p->dims[d]);                                \
        }                                                                                       \
        memcpy(to, from + (size_t)at * block, block);                                           \
        to += block;                                                                            \
      }                                                                                         \
      from += (size_t)p->inner * block;                                                         \
    }                                                                                           \
  }

QK_DEFINE_GATHER(i64, int64_t)
QK_DEFINE_GATHER(i32, int32_t)

QK_INLINE void qk_gather_table(const qk_gather_table_params* p, const void* x, const int32_t* table,
                               void* y) {
  const unsigned char* from = (const unsigned char*)x;
  unsigned char* to = (unsigned char*)y;
  const size_t block = (size_t)p->block;
  const int32_t *t0 = table, *t1 = t0 + p->dims[0], *t2 = t1 + p->dims[1], *t3 = t2 + p->dims[2];
  const int32_t *t4 = t3 + p->dims[3], *t5 = t4 + p->dims[4], *t6 = t5 + p->dims[5];
  const int32_t* t7 = t6 + p->dims[6];
  QK_GATHER_FOR(0)
  QK_GATHER_FOR(1)
  QK_GATHER_FOR(2) QK_GATHER_FOR(3) QK_GATHER_FOR(4) QK_GATHER_FOR(5) QK_GATHER_FOR(6) {
    const int32_t row = t0[i0] + t1[i1] + t2[i2] + t3[i3] + t4[i4] + t5[i5] + t6[i6];
    QK_GATHER_FOR(7) {
      memcpy(to, from + (size_t)(row + t7[i7]) * block, block);
      to += block;
    }
  }
}
