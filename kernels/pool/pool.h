#ifndef QK_POOL_H
#define QK_POOL_H
#include <stdint.h>

/* Pools over up to three spatial axes (unused leading ones have size 1). Taps outside the input are
 * left out; the others are taken in ascending order (depth, height, width).
 *
 * qk_max_pool_T          the largest tap, NaN if there is one; the type's lowest value without taps
 * qk_max_pool_index_T    also where it is: arguments x, y, indices (i64). Of equal taps the first
 *                        counts, of NaNs the last. `index` 0: offset within the channel's plane; 1:
 *                        offset within all of x, row-major; 2: the same with the spatial axes
 *                        counted in reverse order
 * qk_average_pool_T      the sum by chains of chains (kernels/numerics/chain.h), divided by the
 *                        number of taps: those inside, with `include` also those in the padding, or
 *                        `divisor` where it is not 0
 * qk_lp_pool_T           (sum of |x|^power)^(1/power), summed alike
 *
 * With `adaptive` the window of position o is [floor(o*valid/out), ceil((o+1)*valid/out)). With
 * `nhwc` x, y and indices are channels-last. qk_{max,average}_pool_nhwc_f32 are for that layout
 * only.
 */
typedef struct {
  int32_t n, c;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3], end[3];
  int32_t valid[3]; /* elements of x from these on count as outside */
  int32_t nhwc, adaptive, include, index, divisor, power;
} qk_pool_params;

#endif
