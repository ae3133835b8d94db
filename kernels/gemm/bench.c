/* Speed of products of floats with packed weights: the best of many runs. */
#include "kernels/common/bench.h"

#include "kernels/gemm/portable.c"

static const int32_t shapes[][3] = {{256, 256, 256}, {128, 384, 384}, {1, 1000, 512},
                                    {196, 96, 576},  {127, 129, 131}, {12, 64, 2048}};

static __attribute__((noinline)) void measure(int32_t m, int32_t n, int32_t k) {
  const size_t panels = (size_t)(n + 15) / 16 * 16 * (size_t)k;
  const qk_gemm_pack_params pack = {1, k, n, n * k, n, 1};
  const qk_gemm_params p = {1, m, n, k, m * k, (int32_t)panels, m * n, k, -1e9f, 1e9f, {0, 0}};
  const float *x = qk_random_floats((size_t)(m * k)), *w = qk_random_floats((size_t)(n * k));
  float *packed = qk_random_floats(panels), *y = qk_random_floats((size_t)(m * n));
  char what[64];
  qk_gemm_pack_f32(&pack, w, packed);
  QK_BEST(best, qk_gemm_f32(&p, x, packed, 0, 0, y))
  snprintf(what, sizeof what, "gemm %d x %d x %d", m, n, k);
  qk_report(what, (double)m * n * k, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
    measure(shapes[i][0], shapes[i][1], shapes[i][2]);
  return 0;
}
QK_TARGET_END
