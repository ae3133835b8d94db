/* Softmax and its logarithm against plain row reductions, along any axis.
 * arithmetic.md: S4 */
#include "kernels/common/plain.h"
#include "kernels/common/testing.h"
#include "kernels/softmax/portable.c"

static void check(int32_t outer, int32_t n, int32_t inner) {
  const int32_t sizes[] = {outer, n, inner};
  const qk_softmax_params p = {outer, n, inner, 0};
  const size_t count = (size_t)(outer * n * inner);
  const float* x = qk_random_floats(count);
  float *y = qk_random_floats(count), *logs = qk_random_floats(count);
  float *expected = qk_random_floats(count), *expected_logs = qk_random_floats(count);
  float *row = qk_random_floats((size_t)n), *e = qk_random_floats((size_t)n);
  qk_softmax_f32(&p, x, y);
  qk_log_softmax_f32(&p, x, logs);
  for (int32_t r = 0; r < outer * inner; ++r) {
    const int32_t first = r / inner * n * inner + r % inner;
    float most, sum;
    for (int32_t i = 0; i < n; ++i) row[i] = x[first + i * inner];
    most = qk_plain_max(row, n);
    for (int32_t i = 0; i < n; ++i) e[i] = qn_exp_f32(row[i] - most);
    sum = qk_plain_sum(e, n);
    for (int32_t i = 0; i < n; ++i) {
      expected[first + i * inner] = e[i] / sum;
      expected_logs[first + i * inner] = (row[i] - most) - qn_log_f32(sum);
    }
  }
  qk_expect_same("softmax", y, expected, 4 * count, sizes, 3);
  qk_expect_same("log_softmax", logs, expected_logs, 4 * count, sizes, 3);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int32_t n = 1; n < 70; ++n) check(qk_random_in(1, 3), n, qk_random_in(1, 20));
  for (int32_t n = 1000; n < 5000; n += 511) check(1, n, qk_random_in(1, 2));
  return 0;
}
QK_TARGET_END
