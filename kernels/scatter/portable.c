#include <stddef.h>
#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/numerics/combine.h"
#include "kernels/scatter/scatter.h"

#define QK_SCATTER_FOR(d) for (int32_t i##d = 0; i##d < p->dims[d]; ++i##d)

/* PUT(y, at, updates, from, n) stores n elements of SIZE bytes. */
#define QK_DEFINE_SCATTER(suffix, T, SIZE, PUT)                                                 \
  QK_INLINE void qk_scatter_elements_##suffix(const qk_scatter_elements_params* p, const T* x,  \
                                              const int64_t* index, const T* updates, T* y) {   \
    int64_t from = 0;                                                                           \
    if ((const void*)x != (const void*)y) memcpy(y, x, (size_t)p->total* SIZE);                 \
    QK_SCATTER_FOR(0)                                                                           \
    QK_SCATTER_FOR(1)                                                                           \
    QK_SCATTER_FOR(2)                                                                           \
    QK_SCATTER_FOR(3) QK_SCATTER_FOR(4) QK_SCATTER_FOR(5) QK_SCATTER_FOR(6) QK_SCATTER_FOR(7) { \
      const int64_t given = index[from];                                                        \
      const int64_t i = given < 0 ? given + p->size : given;                                    \
      if (i >= 0 && i < p->size) {                                                              \
        const int64_t at = i * p->stride + (int64_t)i0 * p->ys[0] + (int64_t)i1 * p->ys[1] +    \
                           (int64_t)i2 * p->ys[2] + (int64_t)i3 * p->ys[3] +                    \
                           (int64_t)i4 * p->ys[4] + (int64_t)i5 * p->ys[5] +                    \
                           (int64_t)i6 * p->ys[6] + (int64_t)i7 * p->ys[7];                     \
        PUT(y, at, updates, from, 1)                                                            \
      }                                                                                         \
      ++from;                                                                                   \
    }                                                                                           \
  }                                                                                             \
  QK_INLINE void qk_scatter_nd_##suffix(const qk_scatter_nd_params* p, const T* x,              \
                                        const int64_t* index, const T* updates, T* y) {         \
    if ((const void*)x != (const void*)y) memcpy(y, x, (size_t)p->total* SIZE);                 \
    for (int32_t r = 0; r < p->rows; ++r) {                                                     \
      int64_t at = 0;                                                                           \
      int inside = 1;                                                                           \
      for (int32_t d = 0; d < p->depth; ++d) {                                                  \
        const int64_t given = *index++;                                                         \
        const int64_t i = given < 0 ? given + p->dims[d] : given;                               \
        inside = inside && i >= 0 && i < p->dims[d];                                            \
        at = at * p->dims[d] + (inside ? i : 0);                                                \
      }                                                                                         \
      if (inside) {                                                                             \
        PUT(y, at * p->block, updates, (int64_t)r * p->block, p->block)                         \
      }                                                                                         \
    }                                                                                           \
  }

#define QK_SCATTER_COPY(SIZE, y, at, u, from, n) \
  memcpy((unsigned char*)y + (at)*SIZE, (const unsigned char*)u + (from)*SIZE, (size_t)(n)*SIZE);
#define QK_SCATTER_COPY_1(y, at, u, from, n) QK_SCATTER_COPY(1, y, at, u, from, n)
#define QK_SCATTER_COPY_2(y, at, u, from, n) QK_SCATTER_COPY(2, y, at, u, from, n)
#define QK_SCATTER_COPY_4(y, at, u, from, n) QK_SCATTER_COPY(4, y, at, u, from, n)
#define QK_SCATTER_COPY_8(y, at, u, from, n) QK_SCATTER_COPY(8, y, at, u, from, n)
QK_DEFINE_SCATTER(1, void, 1, QK_SCATTER_COPY_1)
QK_DEFINE_SCATTER(2, void, 2, QK_SCATTER_COPY_2)
QK_DEFINE_SCATTER(4, void, 4, QK_SCATTER_COPY_4)
QK_DEFINE_SCATTER(8, void, 8, QK_SCATTER_COPY_8)

#define QK_SCATTER_COMBINE(suffix, y, at, u, from, n)                      \
  for (int32_t k = 0; k < (n); ++k) {                                      \
    y[(at) + k] = qn_combine_##suffix(p->how, y[(at) + k], u[(from) + k]); \
  }
#define QK_SCATTER_F32(y, at, u, from, n) QK_SCATTER_COMBINE(f32, y, at, u, from, n)
#define QK_SCATTER_F64(y, at, u, from, n) QK_SCATTER_COMBINE(f64, y, at, u, from, n)
#define QK_SCATTER_F16(y, at, u, from, n) QK_SCATTER_COMBINE(f16, y, at, u, from, n)
#define QK_SCATTER_BF16(y, at, u, from, n) QK_SCATTER_COMBINE(bf16, y, at, u, from, n)
#define QK_SCATTER_I8(y, at, u, from, n) QK_SCATTER_COMBINE(i8, y, at, u, from, n)
#define QK_SCATTER_I16(y, at, u, from, n) QK_SCATTER_COMBINE(i16, y, at, u, from, n)
#define QK_SCATTER_I32(y, at, u, from, n) QK_SCATTER_COMBINE(i32, y, at, u, from, n)
#define QK_SCATTER_I64(y, at, u, from, n) QK_SCATTER_COMBINE(i64, y, at, u, from, n)
#define QK_SCATTER_U8(y, at, u, from, n) QK_SCATTER_COMBINE(u8, y, at, u, from, n)
#define QK_SCATTER_U16(y, at, u, from, n) QK_SCATTER_COMBINE(u16, y, at, u, from, n)
#define QK_SCATTER_U32(y, at, u, from, n) QK_SCATTER_COMBINE(u32, y, at, u, from, n)
#define QK_SCATTER_U64(y, at, u, from, n) QK_SCATTER_COMBINE(u64, y, at, u, from, n)
QK_DEFINE_SCATTER(f32, float, 4, QK_SCATTER_F32)
QK_DEFINE_SCATTER(f64, double, 8, QK_SCATTER_F64)
QK_DEFINE_SCATTER(f16, uint16_t, 2, QK_SCATTER_F16)
QK_DEFINE_SCATTER(bf16, uint16_t, 2, QK_SCATTER_BF16)
QK_DEFINE_SCATTER(i8, int8_t, 1, QK_SCATTER_I8)
QK_DEFINE_SCATTER(i16, int16_t, 2, QK_SCATTER_I16)
QK_DEFINE_SCATTER(i32, int32_t, 4, QK_SCATTER_I32)
QK_DEFINE_SCATTER(i64, int64_t, 8, QK_SCATTER_I64)
QK_DEFINE_SCATTER(u8, uint8_t, 1, QK_SCATTER_U8)
QK_DEFINE_SCATTER(u16, uint16_t, 2, QK_SCATTER_U16)
QK_DEFINE_SCATTER(u32, uint32_t, 4, QK_SCATTER_U32)
QK_DEFINE_SCATTER(u64, uint64_t, 8, QK_SCATTER_U64)
