/* Normalised rows against plain row reductions, with a channel for each element or for a run.
 * arithmetic.md: S4, S6, S7, Q19 */
#include "kernels/common/plain.h"
#include "kernels/common/testing.h"
#include "kernels/norm/portable.c"

static void check(int32_t n, int32_t groups, int32_t inner, int32_t center) {
  const int32_t rows = groups * qk_random_in(1, 9), sizes[] = {rows, n, groups, inner, center};
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

/* Codes of rows of x + residual, with one scale for each row or for all, and the sums. */
static void check_codes(int32_t rows, int32_t n, int32_t mode, int32_t keep, int32_t batch) {
  const int32_t sizes[] = {rows, n, mode, keep, batch}, all = mode == QK_PER_TENSOR;
  const int32_t span = all ? rows * n : n;
  const size_t count = (size_t)(rows * n);
  const qk_norm_quantize_params p = {
      .rows = rows,
      .n = n,
      .groups = 1,
      .inner = 1,
      .center = 1,
      .eps = 1e-3f,
      .x_type = QK_F32,
      .quantize = {.mode = mode, .hi = 255, .size = 1, .keep = keep, .batch = batch, .span = span}};
  const float *x = qk_random_floats(count), *gamma = qk_random_floats((size_t)n);
  const float *residual = qk_random_floats(count), *beta = qk_random_floats((size_t)n);
  float* floats = qk_random_floats(keep || all ? count : (size_t)(batch * n));
  float *sums = qk_random_floats(count), *expected = qk_random_floats(count);
  float *scales = qk_random_floats((size_t)rows), *want = qk_random_floats((size_t)rows);
  int32_t zeros[64], want_zeros[64];
  uint8_t *y = qk_random_bytes(count), *codes = qk_random_bytes(count);
  qk_norm_quantize(&p, x, residual, gamma, beta, 0, 0, y, scales, zeros, sums, floats);
  for (size_t i = 0; i < count; ++i) expected[i] = x[i] + residual[i];
  qk_expect_same("sums", sums, expected, 4 * count, sizes, 5);
  for (int32_t r = 0; r < rows; ++r) {
    qk_norm_row_f32(expected + r * n, n, 1, p.eps, gamma, beta, 0, 1, expected + r * n, 0, 0);
  }
  for (int32_t r = 0; r < (all ? 1 : rows); ++r) {
    const float* row = expected + r * n;
    qn_dynamic_range(row, span, 0, 255, 0, &want[r], &want_zeros[r]);
    for (int32_t i = 0; i < span; ++i) {
      codes[r * n + i] = (uint8_t)qn_quantize(row[i], want[r], want_zeros[r], 0, 255);
    }
  }
  qk_expect_same("codes", y, codes, count, sizes, 5);
  qk_expect_same("scales", scales, want, all ? 4 : 4 * (size_t)rows, sizes, 5);
  if (keep) qk_expect_same("floats", floats, expected, 4 * count, sizes, 5);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int32_t n = 16; n <= 1056; n += 16) {
    const int32_t mode = n % 32 ? QK_PER_TENSOR : QK_PER_TOKEN;
    check(n, 1, 1, n / 16 % 3 > 0);
    check_codes(qk_random_in(1, 30), n, mode, qk_random_in(0, 1), qk_random_in(1, 11));
  }
  for (int32_t n = 1; n < 70; ++n) {
    check(n, 1, 1, n % 2);
    check(n * 3, qk_random_in(1, 4), 3, (n + 1) % 2);
  }
  for (int32_t n = 1000; n < 5000; n += 511) check(n, 1, 1, n % 2);
  return 0;
}
QK_TARGET_END
