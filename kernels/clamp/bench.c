/* Speed of limits of floats: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/clamp/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(void) {
  const qk_clamp_params p = {1 << 16, 0, 6};
  const float* x = qk_random_floats(1 << 16);
  float* y = qk_random_floats(1 << 16);
  QK_BEST(best, qk_clamp_f32(&p, x, y))
  qk_report("65536 floats", (double)p.n, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure();
  return 0;
}
QK_TARGET_END
