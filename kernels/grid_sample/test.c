/* Points of planes in every mode, against the taps of kernels/numerics/sample.h.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/grid_sample/portable.c"

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) {
    qk_grid_sample_params p;
    int32_t plane, all;
    float *x, *grid, *y, *expected;
    p.batch = qk_random_in(1, 2), p.channels = qk_random_in(1, 3), p.points = qk_random_in(1, 9);
    p.axes = 2, p.mode = i % 3, p.outside = i / 3 % 3, p.corners = i % 2;
    p.size[0] = 1, p.size[1] = qk_random_in(1, 6), p.size[2] = qk_random_in(1, 6);
    plane = p.size[1] * p.size[2];
    all = p.batch * p.channels * p.points;
    x = qk_random_floats((size_t)(p.batch * p.channels * plane));
    grid = qk_random_floats((size_t)(2 * p.batch * p.points));
    for (int32_t k = 0; k < 2 * p.batch * p.points; ++k) grid[k] *= 1.5f;
    y = qk_random_floats((size_t)all), expected = qk_random_floats((size_t)all);
    for (int32_t k = 0; k < all; ++k) {
      const int32_t n = k / p.points / p.channels;
      const float *own = x + k / p.points * plane,
                  *point = grid + 2 * (n * p.points + k % p.points);
      int32_t row[4], column[4];
      float rows[4], columns[4], sum = 0;
      const int taps =
          qn_sample(point[0], p.size[2], p.mode, p.outside, p.corners, column, columns);
      qn_sample(point[1], p.size[1], p.mode, p.outside, p.corners, row, rows);
      for (int a = 0; a < taps; ++a) {
        for (int b = 0; b < taps; ++b) {
          if (row[a] < 0 || column[b] < 0) continue;
          sum = fmaf(rows[a] * columns[b], own[row[a] * p.size[2] + column[b]], sum);
        }
      }
      expected[k] = sum;
    }
    qk_grid_sample_f32(&p, x, grid, y);
    qk_expect_same("grid_sample", y, expected, 4 * (size_t)all, &p.batch, 7);
  }
  return 0;
}
QK_TARGET_END
