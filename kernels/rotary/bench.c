/* Speed of rotary embeddings of heads: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/rotary/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(const char* what, int32_t interleaved) {
  enum { HEADS = 32, ROWS = 64, N = 64 };
  const qk_rotary_params p = {.rank = 3,
                              .dims = {HEADS, ROWS, N},
                              .x_at = {ROWS * N, N, 1},
                              .c = {0, N, 1},
                              .s = {0, N, 1},
                              .count = HEADS,
                              .interleaved = interleaved};
  const float *x = qk_random_floats(HEADS * ROWS * N), *c = qk_random_floats(ROWS * N);
  const float* s = qk_random_floats(ROWS * N);
  float* y = qk_random_floats(HEADS * ROWS * N);
  QK_BEST(best, qk_rotary_f32(&p, x, c, s, 0, y))
  qk_report(what, (double)HEADS * ROWS * N, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure("32 heads of 64 x 64, halves", 0);
  measure("32 heads of 64 x 64, neighbours", 1);
  return 0;
}
QK_TARGET_END
