/* Speed of attention of floats: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/attention/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(const char* what, int32_t heads, int32_t n,
                                              int32_t depth) {
  const size_t count = (size_t)(heads * n * depth);
  const qk_attention_params p = {.batch = 1,
                                 .heads = heads,
                                 .kv_heads = heads,
                                 .queries = n,
                                 .keys = n,
                                 .depth = depth,
                                 .value_depth = depth,
                                 .q_at = {0, n * depth, depth},
                                 .k_at = {0, n * depth, depth},
                                 .v_at = {0, n * depth, depth},
                                 .y_at = {0, n * depth, depth},
                                 .left = -1,
                                 .right = -1,
                                 .rows = 8,
                                 .scale = 0.125f};
  const float *q = qk_random_floats(count), *k = qk_random_floats(count);
  const float* v = qk_random_floats(count);
  float *y = qk_random_floats(count), *scratch = qk_random_floats((size_t)QK_ATTENTION_SCRATCH(
                                          n, (n + 15) / 16 * 16, n, depth, depth, 8));
  QK_BEST(best, qk_attention_f32(&p, q, k, v, 0, 0, y, scratch))
  qk_report(what, 2.0 * heads * n * n * depth, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure("12 heads, 128 x 32", 12, 128, 32);
  measure("8 heads, 64 x 64", 8, 64, 64);
  return 0;
}
QK_TARGET_END
