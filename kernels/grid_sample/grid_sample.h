#ifndef QK_GRID_SAMPLE_H
#define QK_GRID_SAMPLE_H
#include <stdint.h>

/* y[n, c, p] is x[n, c] sampled at grid[n, p], a point of `axes` coordinates, the last axis first.
 * x has `size` elements along its (up to 3) axes, unused leading ones 1; y has `points` of them.
 * The taps of all axes are one chain of fused products, last axis fastest; elements outside are
 * skipped. Interpolating at a point that is no place gives NaN, as in PyTorch. mode, outside and
 * corners are as in kernels/numerics/sample.h. */
typedef struct {
  int32_t batch, channels, points, axes, mode, outside, corners;
  int32_t size[3];
} qk_grid_sample_params;

#endif
