/* Normalised rows against plain row reductions, with a channel for each element or for a run. */
#include "kernels/common/plain.h"
#include "kernels/common/testing.h"
#include "kernels/norm/portable.c"

static void check(int32_t n, int32_t groups, int32_t inner, int32_t center) {
  const int32_t rows = groups * qk_random_in(1, 3), sizes[] = {rows, n, groups, inner, center};
  const int32_t x_rows = qk_random_in(0, 3), x_block = x_rows * n + qk_random_in(0, 5);
  const qk_norm_params p = {rows, n, groups, inner, center, 1e-3f, 0.0f, x_rows, x_block, 0};
  const size_t count = (size_t)(rows * n), channels = (size_t)(groups * n / inner);
  const size_t room = (size_t)(x_rows ? (rows + x_rows - 1) / x_rows * x_block : rows * n);
  const float *x = qk_random_floats(room), *gamma = qk_random_floats(channels);
  const float* beta = center ? qk_random_floats(channels) : 0;
  float *y = qk_random_floats(count), *expected = qk_random_floats(count);
  qk_norm_f32(&p, x, gamma, beta, y, 0, 0);
  for (int32_t r = 0; r < rows; ++r) {
    const float* row = x + (x_rows ? r / x_rows * x_block + r % x_rows * n : r * n);
    const float mean = center ? qk_plain_sum(row, n) / (float)n : 0.0f;
    const float rstd = 1.0f / sqrtf(qk_plain_squares(row, n, mean) / (float)n + p.eps);
    for (int32_t i = 0; i < n; ++i) {
      const int32_t channel = r % groups * (n / inner) + i / inner;
      const float v = (row[i] - mean) * rstd;
      expected[r * n + i] = beta ? fmaf(v, gamma[channel], beta[channel]) : v * gamma[channel];
    }
  }
  qk_expect_same("norm", y, expected, 4 * count, sizes, 5);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int32_t n = 1; n < 70; ++n) {
    check(n, 1, 1, n % 2);
    check(n * 3, qk_random_in(1, 4), 3, (n + 1) % 2);
  }
  for (int32_t n = 1000; n < 5000; n += 511) check(n, 1, 1, n % 2);
  return 0;
}
QK_TARGET_END
