#ifndef QK_CLAMP_H
#define QK_CLAMP_H
#include <stdint.h>

/* y[i] = x[i] limited to [lo, hi] for i < n; NaN stays NaN. Limits beyond an integer type's range
 * limit nothing. y may be x. */
typedef struct {
  int32_t n;
  float lo, hi;
} qk_clamp_params;

#endif
