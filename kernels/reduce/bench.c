/* Speed of means over pixels and over rows: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/reduce/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(const char* what, int32_t pixels, int32_t channels,
                                              int beside) {
  const int32_t rows = beside ? channels : pixels, n = beside ? pixels : channels;
  const qk_reduce_params p = {.outer_rank = 1,
                              .outer_dims = {rows},
                              .outer_strides = {beside ? 1 : channels},
                              .inner_rank = 1,
                              .inner_dims = {n},
                              .inner_strides = {beside ? channels : 1}};
  const float* x = qk_random_floats((size_t)(pixels * channels));
  float* y = qk_random_floats((size_t)rows);
  QK_BEST(best, qk_reduce_mean_f32(&p, x, y))
  qk_report(what, (double)pixels * channels, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure("49 pixels of 1280 channels", 49, 1280, 1);
  measure("128 rows of 384", 128, 384, 0);
  return 0;
}
QK_TARGET_END
