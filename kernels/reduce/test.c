/* Reductions of rows that are dense, strided, side by side, or spread over two axes, against plain
 * ones.
 * arithmetic.md: S4, S5 */
#include "kernels/common/plain.h"
#include "kernels/common/testing.h"
#include "kernels/reduce/portable.c"

/* x is [outer, a, b]; kind 0 reduces b, 1 reduces a, 2 reduces both. */
static void check(int kind, int32_t outer, int32_t a, int32_t b) {
  const int32_t sizes[] = {kind, outer, a, b};
  qk_reduce_params p;
  const size_t count = (size_t)(outer * a * b);
  const int32_t n = kind == 0 ? b : kind == 1 ? a : a * b;
  const int32_t results = (int32_t)count / n;
  const float* x = qk_random_floats(count);
  float *sum = qk_random_floats((size_t)results), *most = qk_random_floats((size_t)results);
  float *var = qk_random_floats((size_t)results), *expected = qk_random_floats(3 * (size_t)results);
  float* row = qk_random_floats((size_t)n);
  memset(&p, 0, sizeof p);
  p.outer_rank = kind == 2 ? 1 : 2;
  p.outer_dims[0] = outer;
  p.outer_strides[0] = a * b;
  p.outer_dims[1] = kind == 0 ? a : b;
  p.outer_strides[1] = kind == 0 ? b : 1;
  p.inner_rank = kind == 2 ? 2 : 1;
  p.inner_dims[0] = kind == 0 ? b : a;
  p.inner_strides[0] = kind == 0 ? 1 : b;
  p.inner_dims[1] = b;
  p.inner_strides[1] = 1;
  qk_reduce_sum_f32(&p, x, sum);
  qk_reduce_max_f32(&p, x, most);
  qk_reduce_var_f32(&p, x, var);
  for (int32_t r = 0; r < results; ++r) {
    const int32_t step = kind == 1 ? b : 1;
    const int32_t first = kind == 0 ? r * b : kind == 1 ? r / b * a * b + r % b : r * a * b;
    float mean;
    for (int32_t i = 0; i < n; ++i) row[i] = x[first + i * step];
    mean = qk_plain_sum(row, n) / (float)n;
    expected[r] = qk_plain_sum(row, n);
    expected[results + r] = qk_plain_max(row, n);
    expected[2 * results + r] = qk_plain_squares(row, n, mean) / (float)n;
  }
  qk_expect_same("sum", sum, expected, 4 * (size_t)results, sizes, 4);
  qk_expect_same("max", most, expected + results, 4 * (size_t)results, sizes, 4);
  qk_expect_same("var", var, expected + 2 * results, 4 * (size_t)results, sizes, 4);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 210; ++i)
    check(i % 3, qk_random_in(1, 3), qk_random_in(1, 40), qk_random_in(1, 40));
  for (int i = 0; i < 6; ++i) check(i % 3, 1, i == 1 ? 2500 : 3, i == 1 ? 3 : 1500);
  return 0;
}
QK_TARGET_END
