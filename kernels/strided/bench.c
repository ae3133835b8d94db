/* Speed of copies with strides: a transpose and a slice: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/strided/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(const char* what, int32_t rows, int32_t columns,
                                              int transposed) {
  const qk_strided_params p = {
      .dims = {1, 1, 1, 1, 1, 1, rows, columns},
      .xs = {0, 0, 0, 0, 0, 0, transposed ? 1 : 2 * columns, transposed ? rows : 1},
      .ys = {0, 0, 0, 0, 0, 0, columns, 1}};
  const float* x = qk_random_floats(2 * (size_t)(rows * columns));
  float* y = qk_random_floats((size_t)(rows * columns));
  QK_BEST(best, qk_strided_4(&p, x, y))
  qk_report(what, (double)rows * columns, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure("transpose of 256 x 384", 256, 384, 1);
  measure("half of the columns of 256 x 768", 256, 384, 0);
  return 0;
}
QK_TARGET_END
