/* Speed of means of codes under windows: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/qpool/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(const char* what, int32_t size, int32_t k) {
  const int32_t out = size / k;
  const qk_qpool_params p = {.n = 1,
                             .c = 64,
                             .in = {1, size, size},
                             .out = {1, out, out},
                             .k = {1, k, k},
                             .stride = {1, k, k},
                             .dilation = {1, 1, 1},
                             .valid = {1, size, size},
                             .nhwc = 1,
                             .type_x = QK_I8,
                             .type_y = QK_I8,
                             .lo = -128,
                             .hi = 127,
                             .lowest = -128,
                             .sx = 0.02f,
                             .sy = 0.013f};
  const uint8_t* x = qk_random_bytes((size_t)(size * size * 64));
  uint8_t* y = qk_random_bytes((size_t)(out * out * 64));
  QK_BEST(best, qk_qavg_pool(&p, x, y))
  qk_report(what, (double)size * size * 64, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure("2 x 2 of 28 x 28 x 64", 28, 2);
  measure("all of 7 x 7 x 64", 7, 7);
  return 0;
}
QK_TARGET_END
