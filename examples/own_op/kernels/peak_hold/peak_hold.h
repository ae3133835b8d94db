#ifndef QK_PEAK_HOLD_H
#define QK_PEAK_HOLD_H
#include <stdint.h>

/* x and y are [rows, n]. y[0] = x[0] and y[k] = the larger of x[k] and y[k - 1] * decay along each
 * row; where either is NaN, x[k]. y may be x. */
typedef struct {
  int32_t rows, n;
  float decay;
} qk_peak_hold_params;

#endif
