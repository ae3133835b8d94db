/* Speed of functions of two operands: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/binary/portable.c"
/* clang-format on */

enum { ROWS = 128, N = 384 };

static __attribute__((noinline)) void measure(const char* what, int32_t step) {
  const qk_broadcast2_params p = {.rank = 2, .dims = {ROWS, N}, .a = {N, 1}, .b = {step, 1}};
  const float *a = qk_random_floats(ROWS * N), *b = qk_random_floats(ROWS * N);
  float* y = qk_random_floats(ROWS * N);
  QK_BEST(best, qk_binary_add_f32(&p, a, b, y))
  qk_report(what, (double)ROWS * N, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure("sum of 128 x 384", N);
  measure("a row added to 128 x 384", 0);
  return 0;
}
QK_TARGET_END
