#ifndef QK_CLAMP_H
#define QK_CLAMP_H
#include <stdint.h>

/* y[i] = x[i] limited to [lo, hi] for i < n; NaN stays NaN. Limits beyond an integer type's range
 * limit nothing. y may be x. */
typedef struct {
  int32_t n;
  float lo, hi;
} qk_clamp_params;

/* The same with limits that no float is equal to: limits[0] and limits[1], of the type of x. */
typedef struct {
  int32_t n;
} qk_clamp_to_params;

#endif
