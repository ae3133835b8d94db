/* Speed of conversions that change the layout, against a conversion and a copy that transposes what
 * it made: microseconds, each the best of many runs. */
#include "kernels/common/bench.h"

#include "kernels/quantize/portable.c"
#include "kernels/strided/portable.c"

static const int32_t images[][2] = {{3, 224 * 224}, {16, 56 * 56}, {64, 28 * 28}};

static __attribute__((noinline)) void measure(int32_t channels, int32_t positions) {
  const int32_t n = channels * positions, zero = 3;
  const float scale = 0.01f;
  const qk_quantize_params plain = {1, 1, n, 1, 0, 0, 0, -128, 127, 0};
  const qk_quantize_transposed_params in = {1, channels, positions, -128, 127, 0};
  const qk_quantize_transposed_params out = {1, positions, channels, -128, 127, 0};
  const qk_strided_params copy = {{1, 1, 1, 1, 1, 1, positions, channels},
                                  {0, 0, 0, 0, 0, 0, 1, positions},
                                  {0, 0, 0, 0, 0, 0, channels, 1},
                                  0,
                                  0};
  const qk_strided_params copy_out = {{1, 1, 1, 1, 1, 1, channels, positions},
                                      {0, 0, 0, 0, 0, 0, 1, channels},
                                      {0, 0, 0, 0, 0, 0, positions, 1},
                                      0,
                                      0};
  float *x = qk_random_floats((size_t)n), *back = qk_random_floats((size_t)n);
  float* rows = qk_random_floats((size_t)n);
  int8_t *codes = (int8_t*)qk_random_bytes((size_t)n), *y = (int8_t*)qk_random_bytes((size_t)n);
  QK_BEST(two, qk_quantize_i8(&plain, x, &scale, &zero, codes); qk_strided_1(&copy, codes, y))
  QK_BEST(one, qk_quantize_transposed_i8(&in, x, &scale, &zero, y))
  QK_BEST(two_out, qk_dequantize_i8(&plain, y, &scale, &zero, back);
          qk_strided_4(&copy_out, back, rows))
  QK_BEST(one_out, qk_dequantize_transposed_i8(&out, y, &scale, &zero, rows))
  printf(
      "%3d x %5d: quantize %6.1f, with a copy %6.1f us; dequantize %6.1f, with a copy %6.1f us\n",
      channels, positions, 1e6 * one, 1e6 * two, 1e6 * one_out, 1e6 * two_out);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (size_t i = 0; i < sizeof images / sizeof images[0]; ++i) measure(images[i][0], images[i][1]);
  return 0;
}
QK_TARGET_END
