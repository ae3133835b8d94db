/* Where the rows of a rotation are. */
#ifndef QK_ROTARY_WALK_H
#define QK_ROTARY_WALK_H
#include <stddef.h>

#include "kernels/common/inline.h"
#include "kernels/rotary/rotary.h"

typedef struct qk_rotary_row {
  int32_t index[8];
  ptrdiff_t x, c, s;
} qk_rotary_row;

/* The row after `at`; the outer dims are those before `last`. */
QK_INLINE void qk_rotary_next(int32_t last, const int32_t* dims, const int32_t* x, const int32_t* c,
                              const int32_t* s, qk_rotary_row* at) {
  for (int32_t d = last - 1; d >= 0; --d) {
    at->x += x[d];
    at->c += c[d];
    at->s += s[d];
    if (++at->index[d] < dims[d]) return;
    at->index[d] = 0;
    at->x -= (ptrdiff_t)dims[d] * x[d];
    at->c -= (ptrdiff_t)dims[d] * c[d];
    at->s -= (ptrdiff_t)dims[d] * s[d];
  }
}

#define QK_ROTARY_ROWS(p, rows) \
  int32_t rows = 1;             \
  for (int32_t d = 0; d + 1 < (p)->rank; ++d) rows *= (p)->dims[d];
#define QK_ROTARY_NEXT(p, at) \
  qk_rotary_next((p)->rank - 1, (p)->dims, (p)->x_at, (p)->c, (p)->s, at)
/* Whether a row is rotated. */
#define QK_ROTARY_ROTATES(p, at) \
  ((at)->index[(p)->axis] - (p)->first >= 0 && (at)->index[(p)->axis] - (p)->first < (p)->count)
/* The factors of a row that rotates. */
#define QK_ROTARY_GAMMA(p, at, gamma) \
  ((gamma) ? (gamma) + ((at)->index[(p)->axis] - (p)->first) * (p)->gamma_at : 0)

#endif
