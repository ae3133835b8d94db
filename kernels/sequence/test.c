/* Numbers in steps, also beyond 64 bits, and numbers as they are given.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/sequence/portable.c"

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) {
    qk_sequence_params p;
    qk_sizes_params s;
    int64_t *y, *sizes, expected[64];
    p.n = qk_random_in(0, 64);
    p.start = i % 2 ? INT64_MAX - qk_random_in(0, 99) : qk_random_in(-999, 999);
    p.step = qk_random_in(-99, 99);
    y = (int64_t*)(void*)qk_random_bytes(8 * (size_t)p.n);
    for (int32_t k = 0; k < p.n; ++k)
      expected[k] = (int64_t)((uint64_t)p.start + (uint64_t)k * (uint64_t)p.step);
    qk_sequence(&p, y);
    qk_expect_same("sequence", y, expected, 8 * (size_t)p.n, &p.n, 1);
    s.n = qk_random_in(0, 8);
    for (int32_t k = 0; k < 8; ++k) s.values[k] = (int64_t)qk_random() << 20;
    sizes = (int64_t*)(void*)qk_random_bytes(8 * (size_t)s.n);
    qk_sizes(&s, sizes);
    qk_expect_same("sizes", sizes, s.values, 8 * (size_t)s.n, &s.n, 1);
  }
  return 0;
}
QK_TARGET_END
