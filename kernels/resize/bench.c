/* Speed of linear resampling along one axis: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/resize/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(const char* what, int32_t outer, int32_t in,
                                              int32_t inner) {
  const qk_resize_params p = {outer, in, 2 * in, inner, 2, 0};
  int32_t* index = (int32_t*)(void*)qk_random_bytes(16 * (size_t)in);
  float* weight = qk_random_floats(4 * (size_t)in);
  const float* x = qk_random_floats((size_t)(outer * in * inner));
  float* y = qk_random_floats(2 * (size_t)(outer * in * inner));
  for (int32_t j = 0; j < 2 * in; ++j) {
    index[2 * j] = (j / 2 + in - 1 + j % 2) % in; /* neighbours */
    index[2 * j + 1] = (j / 2 + j % 2) % in;
    weight[2 * j] = j % 2 ? 0.75f : 0.25f;
    weight[2 * j + 1] = 1 - weight[2 * j];
  }
  QK_BEST(best, qk_resize_f32(&p, x, index, weight, y))
  qk_report(what, 4.0 * outer * in * inner, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure("rows of 32 x 32 x 64, twice as many", 1, 32, 32 * 64);
  measure("columns of 64 x 32 x 64, twice as many", 64, 32, 64);
  return 0;
}
QK_TARGET_END
