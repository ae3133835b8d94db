/* Rows against the formula by plain loops: codes of either sign, along the last axis and others, in
 * place too.
 * arithmetic.md: Q60 */
#include "kernels/common/testing.h"
#include "kernels/qsoftmax/portable.c"

static void check(int i) {
  const int32_t outer = qk_random_in(1, 9), n = qk_random_in(1, 150);
  const int32_t inner = i % 4 ? 1 : qk_random_in(1, 3), spread = qk_random_in(1, 256);
  const int32_t sizes[] = {outer, n, inner, i & 1, i >> 1 & 1, spread};
  const size_t count = (size_t)(outer * n * inner);
  qk_qsoftmax_params p = {outer, n, inner, QK_U8, QK_U8, 3, 0, 255, 256.0f};
  uint8_t *x = qk_random_bytes(count), *y = qk_random_bytes(count);
  uint8_t* expected = qk_random_bytes(count);
  float table[256];
  if (i & 1) p.type_x = QK_I8;
  if (i >> 1 & 1) p.type_y = QK_I8, p.lo = -128, p.hi = 127, p.zero = -128;
  for (int32_t k = 0; k < 256; ++k) table[k] = expf(0.07f * (float)(k - 255)) / 64.0f;
  for (size_t k = 0; k < count; ++k) x[k] = (uint8_t)(x[k] % spread);
  for (int32_t row = 0; row < outer * inner; ++row) {
    const int32_t first = row / inner * n * inner + row % inner;
    int32_t most = -128;
    float sum = 0.0f;
    for (int32_t k = 0; k < n; ++k) {
      const int32_t c = qk_load_code(x, p.type_x, first + k * inner);
      most = c > most ? c : most;
    }
    for (int32_t k = 0; k < n; ++k) {
      sum += table[255 - most + qk_load_code(x, p.type_x, first + k * inner)];
    }
    for (int32_t k = 0; k < n; ++k) {
      const int32_t at = first + k * inner, c = qk_load_code(x, p.type_x, at);
      expected[at] =
          (uint8_t)qn_softmax_code_ort(table[255 - most + c], p.steps, sum, p.zero, p.lo, p.hi);
    }
  }
  qk_qsoftmax(&p, x, table, y);
  qk_expect_same("qsoftmax", y, expected, count, sizes, 6);
  qk_qsoftmax(&p, x, table, x);
  qk_expect_same("qsoftmax in place", x, expected, count, sizes, 6);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 400; ++i) check(i);
  return 0;
}
QK_TARGET_END
