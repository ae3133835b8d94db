/* Speed of sums of codes: the best of many runs. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/bench.h"
#include "kernels/qbinary/portable.c"
/* clang-format on */

static __attribute__((noinline)) void measure(void) {
  enum { N = 1 << 15 };
  const qk_qbinary_params p = {.rank = 1,
                               .dims = {N},
                               .a = {1},
                               .b = {1},
                               .type_a = QK_I8,
                               .type_b = QK_I8,
                               .type_y = QK_I8,
                               .lo = -128,
                               .hi = 127,
                               .lowest = -128,
                               .ra = 0.37f,
                               .rb = 0.41f};
  const uint8_t *a = qk_random_bytes(N), *b = qk_random_bytes(N);
  uint8_t* y = qk_random_bytes(N);
  QK_BEST(best, qk_qadd(&p, a, b, y))
  qk_report("32768 codes", N, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  measure();
  return 0;
}
QK_TARGET_END
