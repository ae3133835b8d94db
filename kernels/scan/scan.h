#ifndef QK_SCAN_H
#define QK_SCAN_H
#include <stdint.h>

/* x and y are [outer, n, inner]. y[k] = op of x[0..k] along n: sums of floats by chains of chains
 * (kernels/numerics/chain.h), everything else one after the other. `exclusive` leaves x[k] itself
 * out, `reverse` runs from the end. f16 and bf16 accumulate in f32. y may be x.
 */
typedef struct {
  int32_t outer, n, inner, exclusive, reverse;
} qk_scan_params;

/* The largest (smallest) element so far and the last position it was met at; NaN stays. */
typedef struct {
  int32_t outer, n, inner;
} qk_extreme_params;

#endif
