/* Attention against scores by chains, plain softmax and chains over the keys: heads that share
 * keys, windows, and sizes that fill no panel.
 * arithmetic.md: S13 */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/testing.h"
#include "kernels/common/plain.h"
#include "kernels/attention/portable.c"
/* clang-format on */

static void check(int i) {
  const int32_t kv = qk_random_in(1, 2), heads = kv * qk_random_in(1, 3);
  const int32_t queries = qk_random_in(1, 9), keys = qk_random_in(1, 80);
  const int32_t depth = qk_random_in(1, 20), value_depth = qk_random_in(1, 20);
  const int32_t left = i % 3 ? -1 : qk_random_in(0, 5), right = i % 2 ? -1 : qk_random_in(0, 5);
  const int32_t sizes[] = {heads, kv, queries, keys, depth, value_depth, left, right};
  const qk_attention_params p = {.batch = 1,
                                 .heads = heads,
                                 .kv_heads = kv,
                                 .queries = queries,
                                 .keys = keys,
                                 .depth = depth,
                                 .value_depth = value_depth,
                                 .q_at = {0, queries * depth, depth},
                                 .k_at = {0, keys * depth, depth},
                                 .v_at = {0, keys * value_depth, value_depth},
                                 .y_at = {0, value_depth, heads * value_depth},
                                 .left = left,
                                 .right = right,
                                 .rows = 2,
                                 .wide = i / 6 % 2,
                                 .scale = 0.3f};
  const float* q = qk_random_floats((size_t)(heads * queries * depth));
  const float* k = qk_random_floats((size_t)(kv * keys * depth));
  const float* v = qk_random_floats((size_t)(kv * keys * value_depth));
  const size_t count = (size_t)(heads * queries * value_depth);
  float *y = qk_random_floats(count), *expected = qk_random_floats(count);
  float *s = qk_random_floats((size_t)keys), *e = qk_random_floats((size_t)keys);
  const int32_t whole = p.wide ? QK_ATTENTION_WIDE : 16,
                padded = (keys + whole - 1) / whole * whole;
  float* scratch = qk_random_floats(
      (size_t)QK_ATTENTION_SCRATCH(keys, padded, p.wide ? padded : keys, depth, value_depth, 2));
  qk_attention_f32(&p, q, k, v, 0, 0, y, scratch);
  for (int32_t row = 0; row < heads * queries; ++row) {
    const int32_t shared = row / queries / (heads / kv), at = row % queries;
    float most, sum;
    for (int32_t j = 0; j < keys; ++j) {
      float score = 0.0f;
      for (int32_t d = 0; d < depth; ++d) {
        score = fmaf(q[row * depth + d], k[(shared * keys + j) * depth + d], score);
      }
      s[j] = score * p.scale;
      if ((left >= 0 && j < at - left) || (right >= 0 && j > at + right)) s[j] = -INFINITY;
    }
    most = qk_plain_max(s, keys);
    for (int32_t j = 0; j < keys; ++j) e[j] = qn_exp_f32(s[j] - most);
    sum = qk_plain_sum(e, keys);
    for (int32_t d = 0; d < value_depth; ++d) {
      float chain = 0.0f;
      for (int32_t j = 0; j < keys; ++j) {
        const float weight = most == -INFINITY ? 0.0f : e[j] / sum;
        chain = fmaf(weight, v[(shared * keys + j) * value_depth + d], chain);
      }
      expected[(at * heads + row / queries) * value_depth + d] = chain;
    }
  }
  qk_expect_same("attention", y, expected, 4 * count, sizes, 8);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) check(i);
  return 0;
}
QK_TARGET_END
