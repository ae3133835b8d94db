#ifndef QK_ROTARY_H
#define QK_ROTARY_H
#include "kernels/common/elementwise.h"

/* Turns pairs of elements along the last dim: the pair (a, b) at i and j becomes
 *   y[i] = fma(-b, sin[i], a * cos[i]),  y[j] = fma(a, sin[j], b * cos[j]).
 * Pairs are (k, k + n/2), or the neighbours (2k, 2k + 1) when interleaved. cos and sin are walked
 * with element strides c and s; 0 repeats. y may be x. */
typedef struct {
  int32_t rank; /* 1 to 8 */
  int32_t dims[8];
  int32_t c[8], s[8];
  int32_t interleaved;
} qk_rotary_params;

#endif
