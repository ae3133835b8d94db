#ifndef QK_CAST_H
#define QK_CAST_H
#include <stdint.h>

/* y[i] = x[i] converted for i < n, by the rules of kernels/numerics/cast.h; FROM and TO in the
 * name. */
typedef struct {
  int32_t n;
} qk_cast_params;

/* Floats to 8-bit floats: without saturation what is too large becomes the format's infinity or
 * NaN; `round` is the rounding of f8e8m0 (0 up, 1 down, 2 to nearest). */
typedef struct {
  int32_t n, saturate, round;
} qk_cast_mode_params;

#endif
