#include <stddef.h>
#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/strided/strided.h"

#define QK_STRIDED_FOR(d) for (int32_t i##d = 0; i##d < p->dims[d]; ++i##d)
#define QK_STRIDED_AT(s)                                                         \
  ((ptrdiff_t)i0 * p->s[0] + (ptrdiff_t)i1 * p->s[1] + (ptrdiff_t)i2 * p->s[2] + \
   (ptrdiff_t)i3 * p->s[3] + (ptrdiff_t)i4 * p->s[4] + (ptrdiff_t)i5 * p->s[5])

/* The two innermost dims: runs where both sides are dense, tiles where x is dense across y's rows.
 * Elements move as bytes, so their type does not matter. */
#define QK_DEFINE_STRIDED(SIZE)                                                                   \
  QK_INLINE void qk_strided_plane_##SIZE(const qk_strided_params* p, const unsigned char* x,      \
                                         unsigned char* y) {                                      \
    const int32_t rows = p->dims[6], columns = p->dims[7];                                        \
    const ptrdiff_t xr = (ptrdiff_t)p->xs[6] * SIZE, xc = (ptrdiff_t)p->xs[7] * SIZE;             \
    const ptrdiff_t yr = (ptrdiff_t)p->ys[6] * SIZE, yc = (ptrdiff_t)p->ys[7] * SIZE;             \
    if (xc == SIZE && yc == SIZE) {                                                               \
      for (int32_t r = 0; r < rows; ++r) memcpy(y + r * yr, x + r * xr, (size_t)columns * SIZE);  \
    } else if (xr == SIZE) {                                                                      \
      for (int32_t r = 0; r < rows; r += 16) {                                                    \
        const int32_t r_end = rows - r < 16 ? rows : r + 16;                                      \
        for (int32_t c = 0; c < columns; c += 16) {                                               \
          const int32_t c_end = columns - c < 16 ? columns : c + 16;                              \
          for (int32_t i = r; i < r_end; ++i) {                                                   \
            for (int32_t j = c; j < c_end; ++j) {                                                 \
              memcpy(y + i * yr + j * yc, x + i * xr + j * xc, SIZE);                             \
            }                                                                                     \
          }                                                                                       \
        }                                                                                         \
      }                                                                                           \
    } else {                                                                                      \
      for (int32_t i = 0; i < rows; ++i) {                                                        \
        for (int32_t j = 0; j < columns; ++j) {                                                   \
          memcpy(y + i * yr + j * yc, x + i * xr + j * xc, SIZE);                                 \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
  QK_INLINE void qk_strided_##SIZE(const qk_strided_params* p, const void* x, void* y) {          \
    const unsigned char* from = (const unsigned char*)x + (ptrdiff_t)p->x_offset * SIZE;          \
    unsigned char* to = (unsigned char*)y + (ptrdiff_t)p->y_offset * SIZE;                        \
    QK_STRIDED_FOR(0)                                                                             \
    QK_STRIDED_FOR(1) QK_STRIDED_FOR(2) QK_STRIDED_FOR(3) QK_STRIDED_FOR(4) QK_STRIDED_FOR(5) {   \
      qk_strided_plane_##SIZE(p, from + QK_STRIDED_AT(xs) * SIZE, to + QK_STRIDED_AT(ys) * SIZE); \
    }                                                                                             \
  }

QK_DEFINE_STRIDED(1)
QK_DEFINE_STRIDED(2)
QK_DEFINE_STRIDED(4)
QK_DEFINE_STRIDED(8)
