/* Speed of layer norms: as floats, and of a sum that becomes codes with one scale for all or for
 * each row: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/norm/portable.c"
/* clang-format on */

enum { ROWS = 128, N = 384, BATCH = 10 };

static __attribute__((noinline)) void measure_floats(void) {
  const float *x = qk_random_floats(ROWS * N), *gamma = qk_random_floats(N);
  const float* beta = qk_random_floats(N);
  float* y = qk_random_floats(ROWS * N);
  const qk_norm_params p = {
      .rows = ROWS, .n = N, .groups = 1, .inner = 1, .center = 1, .eps = 1e-5f};
  QK_BEST(best, qk_norm_f32(&p, x, gamma, beta, y, 0, 0))
  qk_report("128 x 384", (double)ROWS * N, best);
}

static __attribute__((noinline)) void measure_codes(const char* what, int32_t mode, int32_t span) {
  const float *x = qk_random_floats(ROWS * N), *residual = qk_random_floats(ROWS * N);
  const float *gamma = qk_random_floats(N), *beta = qk_random_floats(N);
  float *scales = qk_random_floats(ROWS), *floats = qk_random_floats(ROWS * N);
  int32_t* zeros = (int32_t*)qk_random_floats(ROWS);
  uint8_t* y = qk_random_bytes(ROWS * N);
  const qk_norm_quantize_params p = {
      .rows = ROWS,
      .n = N,
      .groups = 1,
      .inner = 1,
      .center = 1,
      .eps = 1e-5f,
      .x_type = QK_F32,
      .quantize = {.mode = mode, .hi = 255, .size = 1, .keep = 1, .batch = BATCH, .span = span}};
  QK_BEST(best, qk_norm_quantize(&p, x, residual, gamma, beta, 0, 0, y, scales, zeros, 0, floats))
  qk_report(what, (double)ROWS * N, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure_floats();
  measure_codes("128 x 384, a sum to codes, one scale", QK_PER_TENSOR, ROWS * N);
  measure_codes("128 x 384, a sum to codes, a scale per row", QK_PER_TOKEN, N);
  return 0;
}
QK_TARGET_END
