#ifndef QK_RESIZE_H
#define QK_RESIZE_H
#include <stdint.h>

/* Resamples the middle axis of x [outer, in, inner] to y [outer, out, inner]:
 *   y[o, j, i] = sum over t < taps of weight[j, t] * x[o, index[j, t], i]
 * as one chain of fused products from 0, t ascending. Where index[j, 0] is negative y is `fill`. */
typedef struct {
  int32_t outer, in, out, inner, taps;
  float fill;
} qk_resize_params;

#endif
