/* Speed of functions of one operand: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/unary/portable.c"
/* clang-format on */

#define MEASURE(op)                                          \
  static __attribute__((noinline)) void measure_##op(void) { \
    const qk_unary_params p = {1 << 14};                     \
    const float* x = qk_random_floats(1 << 14);              \
    float* y = qk_random_floats(1 << 14);                    \
    QK_BEST(best, qk_unary_##op##_f32(&p, x, y))             \
    qk_report("16384 of " #op, (double)p.n, best);           \
  }
MEASURE(sigmoid)
MEASURE(tanh)
MEASURE(gelu)
MEASURE(sqrt)

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure_sigmoid();
  measure_tanh();
  measure_gelu();
  measure_sqrt();
  return 0;
}
QK_TARGET_END
