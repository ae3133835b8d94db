/* Speed of rows by index: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/gather/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(void) {
  const qk_gather_params p = {1, 1000, 128, 4 * 384};
  const float* x = qk_random_floats(1000 * 384);
  float* y = qk_random_floats(128 * 384);
  int64_t* index = (int64_t*)(void*)qk_random_bytes(8 * 128);
  for (int i = 0; i < 128; ++i) index[i] = qk_random_in(0, 999);
  QK_BEST(best, qk_gather_i64(&p, x, index, y))
  qk_report("128 of 1000 rows of 384 floats", 128.0 * 384, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure();
  return 0;
}
QK_TARGET_END
