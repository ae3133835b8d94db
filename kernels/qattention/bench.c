/* Speed of attention on codes of 8 bits, dense operands with one scale each: the best of many runs.
 */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/common/plain.h"
#include "kernels/qattention/tested.h"
/* clang-format on */

enum { ROWS = 16 };
/* Heads, queries, keys, depth. */
static const int32_t shapes[][4] = {{12, 128, 128, 32}, {12, 128, 128, 64}, {8, 1, 512, 64}};

static void lie(int32_t* at, int32_t heads, int32_t rows, int32_t n) {
  at[0] = heads * rows * n;
  at[1] = rows * n;
  at[2] = n;
}

static __attribute__((noinline)) void measure(int32_t heads, int32_t queries, int32_t keys,
                                              int32_t depth) {
  const size_t of_q = (size_t)(heads * queries * depth), of_k = (size_t)(heads * keys * depth);
  const int8_t *q = (const int8_t*)qk_random_bytes(of_q), *k = (const int8_t*)qk_random_bytes(of_k);
  const int8_t* v = (const int8_t*)qk_random_bytes(of_k);
  float* y = qk_random_floats(of_q);
  float* floats = qk_random_floats((size_t)QK_QATTENTION_FLOATS(keys, depth, ROWS));
  int16_t* words =
      (int16_t*)qk_random_floats((size_t)QK_QATTENTION_WORDS(keys, depth, depth, ROWS));
  char what[64];
  qk_qattention_params p;
  memset(&p, 0, sizeof p);
  p.batch = 1;
  p.heads = p.kv_heads = heads;
  p.queries = queries;
  p.keys = keys;
  p.depth = p.value_depth = depth;
  lie(p.q_at, heads, queries, depth);
  lie(p.k_at, heads, keys, depth);
  lie(p.v_at, heads, keys, depth);
  lie(p.y_at, heads, queries, depth);
  p.left = p.right = -1;
  p.rows = ROWS;
  p.scale = 0.1f;
  p.q_scale = p.k_scale = p.v_scale = 0.01f;
  p.y_type = QK_F32;
  p.quantize.mode = QK_NO_EPILOGUE;
  QK_BEST(best, BODY(&p, q, k, v, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, y, 0, 0, 0, floats, words))
  snprintf(what, sizeof what, "qattention %d heads, %d by %d, depth %d", heads, queries, keys,
           depth);
  qk_report(what, 2.0 * heads * queries * keys * depth, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
    measure(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
  return 0;
}
QK_TARGET_END
