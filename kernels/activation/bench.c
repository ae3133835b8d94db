/* Speed of activations that become codes, with one scale that is given, one for each row and one
 * for all: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/activation/portable.c"
/* clang-format on */

enum { ROWS = 128, N = 1536, BATCH = 8 };

typedef void (*kernel)(const qk_activation_quantize_params*, const float*, const float*,
                       const float*, const int32_t*, void*, float*, int32_t*, float*);

static __attribute__((noinline)) void measure(const char* name, kernel run, int32_t mode) {
  const float scale = 0.02f, *x = qk_random_floats(ROWS * N);
  const int32_t zero = 3;
  uint8_t* y = qk_random_bytes(ROWS * N);
  float *scales = qk_random_floats(ROWS), *floats = qk_random_floats(ROWS * N);
  int32_t* zeros = (int32_t*)qk_random_floats(ROWS);
  const qk_activation_quantize_params p = {.rows = ROWS,
                                           .n = N,
                                           .x_stride = N,
                                           .quantize = {.mode = mode,
                                                        .lo = -127,
                                                        .hi = 127,
                                                        .symmetric = 1,
                                                        .size = 1,
                                                        .batch = BATCH,
                                                        .span = N,
                                                        .axis = 1,
                                                        .inner = 1,
                                                        .group = 1}};
  char what[64];
  QK_BEST(best, run(&p, x, 0, &scale, &zero, y, scales, zeros, floats))
  snprintf(what, sizeof what, "%s to codes, %s", name,
           mode == QK_STATIC      ? "one scale"
           : mode == QK_PER_TOKEN ? "a scale per row"
                                  : "a scale for all");
  qk_report(what, (double)ROWS * N, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure("gelu", qk_activation_quantize_gelu, QK_STATIC);
  measure("gelu", qk_activation_quantize_gelu, QK_PER_TOKEN);
  measure("gelu", qk_activation_quantize_gelu, QK_PER_TENSOR);
  measure("silu", qk_activation_quantize_silu, QK_STATIC);
  return 0;
}
QK_TARGET_END
