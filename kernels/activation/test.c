/* Activations as codes against plain arithmetic, and codes of values at and near ties.
 * arithmetic.md: Q19 */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/testing.h"
#include "kernels/activation/portable.c"
#include "kernels/activation/test_gelu.h"
/* clang-format on */

/* Codes of 61 values, most of them within some units of a tie between two codes. */
static void check_ties(float scale, int32_t zero) {
  const int32_t sizes[] = {zero};
  float x[61];
  uint8_t y[61], expected[61];
  const qk_quantize_epilogue e = {.to = {.lo = -128, .hi = 127, .size = 1, .batch = 1}, .y = y};
  for (int j = 0; j < 61; ++j) {
    const float tie = ((float)qk_random_in(-300, 300) + 0.5f) * scale;
    x[j] = qn_from_bits_f32(qn_bits_f32(tie) + (uint32_t)qk_random_in(-3, 3));
    expected[j] = (uint8_t)qn_quantize(x[j], scale, zero, -128, 127);
  }
  qk_epilogue_codes(&e, x, 61, scale, zero, 0);
  qk_expect_same("codes near ties", y, expected, 61, sizes, 1);
}

/* Rows of silu(x) * factor with a scale each. */
static void check_rows(int32_t rows, int32_t n, int32_t batch) {
  const int32_t sizes[] = {rows, n, batch};
  const size_t count = (size_t)(rows * n);
  const qk_activation_quantize_params p = {.rows = rows,
                                           .n = n,
                                           .x_stride = n,
                                           .factor_stride = n,
                                           .quantize = {.mode = QK_PER_TOKEN,
                                                        .lo = -127,
                                                        .hi = 127,
                                                        .symmetric = 1,
                                                        .size = 1,
                                                        .batch = batch,
                                                        .span = n}};
  const float *x = qk_random_floats(count), *factor = qk_random_floats(count);
  float *floats = qk_random_floats((size_t)(batch * n)), *row = qk_random_floats((size_t)n);
  float *scales = qk_random_floats((size_t)rows), *want = qk_random_floats((size_t)rows);
  int32_t zeros[64], zero;
  int8_t y[4096], expected[4096];
  qk_activation_quantize_silu(&p, x, factor, 0, 0, y, scales, zeros, floats);
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t i = 0; i < n; ++i) row[i] = qn_silu_f32(x[r * n + i]) * factor[r * n + i];
    qn_dynamic_range(row, n, -127, 127, 1, &want[r], &zero);
    for (int32_t i = 0; i < n; ++i)
      expected[r * n + i] = (int8_t)qn_quantize(row[i], want[r], zero, -127, 127);
  }
  qk_expect_same("codes", y, expected, count, sizes, 3);
  qk_expect_same("scales", scales, want, 4 * (size_t)rows, sizes, 3);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int k = 0; k < 20000; ++k) {
    const uint32_t bits = (uint32_t)qk_random_in(0x30000000, 0x45000000);
    check_ties(qn_from_bits_f32(bits), k % 2 ? 0 : qk_random_in(-128, 127));
  }
  check_ties(1e-38f, 0);
  check_ties(3e37f, 0);
  for (int32_t n = 1; n < 2000; ++n) check_gelu(n);
  check_codes_of_gelu();
  check_gelu_of_all();
  for (int32_t n = 1; n < 130; n += 3) check_rows(qk_random_in(1, 30), n, qk_random_in(1, 5));
  return 0;
}
QK_TARGET_END
