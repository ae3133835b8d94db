/* Speed of softmax of rows: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/softmax/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(const char* what, int32_t rows, int32_t n) {
  const qk_softmax_params p = {rows, n, 1, 0};
  const float* x = qk_random_floats((size_t)(rows * n));
  float* y = qk_random_floats((size_t)(rows * n));
  QK_BEST(best, qk_softmax_f32(&p, x, y))
  qk_report(what, (double)rows * n, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure("1536 x 128", 1536, 128);
  measure("1 x 1000", 1, 1000);
  return 0;
}
QK_TARGET_END
