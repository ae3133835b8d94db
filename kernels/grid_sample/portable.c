#include <stddef.h>

#include "kernels/common/inline.h"
#include "kernels/grid_sample/grid_sample.h"
#include "kernels/numerics/sample.h"

QK_INLINE void qk_grid_sample_f32(const qk_grid_sample_params* p, const float* x, const float* grid,
                                  float* y) {
  const size_t plane = (size_t)p->size[0] * (size_t)p->size[1] * (size_t)p->size[2];
  const size_t points = (size_t)p->points;
  for (int32_t n = 0; n < p->batch; ++n) {
    for (size_t at = 0; at < points; ++at) {
      int32_t index[3][4] = {{0}};
      float weight[3][4] = {{1.0f}, {1.0f}, {1.0f}};
      int taps[3] = {1, 1, 1};
      for (int32_t d = 0; d < p->axes; ++d) {
        const int axis = 2 - d;
        taps[axis] = qn_sample(grid[d], p->size[axis], p->mode, p->outside, p->corners, index[axis],
                               weight[axis]);
      }
      grid += p->axes;
      const float start = qn_sample_start(weight[0][0], weight[1][0], weight[2][0]);
      for (int32_t c = 0; c < p->channels; ++c) {
        const float* from = x + (size_t)c * plane;
        float sum = start;
        for (int i = 0; i < taps[0]; ++i) {
          for (int j = 0; j < taps[1]; ++j) {
            const float row = qn_mulf(weight[0][i], weight[1][j]);
            for (int k = 0; k < taps[2]; ++k) {
              if (index[0][i] < 0 || index[1][j] < 0 || index[2][k] < 0) continue;
              sum = qn_fmaf(qn_mulf(row, weight[2][k]),
                            from[((size_t)index[0][i] * (size_t)p->size[1] + (size_t)index[1][j]) *
                                     (size_t)p->size[2] +
                                 (size_t)index[2][k]],
                            sum);
            }
          }
        }
        y[(size_t)c * points + at] = sum;
      }
    }
    x += (size_t)p->channels * plane;
    y += (size_t)p->channels * points;
  }
}
