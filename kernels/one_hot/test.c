/* Indices from the start and from the end, and outside the axis.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/one_hot/portable.c"

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 300; ++i) {
    qk_one_hot_params p;
    int64_t* index;
    int32_t all;
    uint8_t *values, *y, *expected;
    p.outer = qk_random_in(1, 4), p.depth = qk_random_in(1, 6), p.inner = qk_random_in(1, 4);
    p.block = 1 << i % 4;
    all = p.outer * p.depth * p.inner;
    index = (int64_t*)(void*)qk_random_bytes(8 * (size_t)(p.outer * p.inner));
    for (int32_t k = 0; k < p.outer * p.inner; ++k) index[k] = qk_random_in(-9, 9);
    values = qk_random_bytes(2 * (size_t)p.block);
    y = qk_random_bytes((size_t)(all * p.block));
    expected = qk_random_bytes((size_t)(all * p.block));
    for (int32_t at = 0; at < all; ++at) {
      const int64_t own = index[at / p.inner / p.depth * p.inner + at % p.inner];
      const int32_t d = at / p.inner % p.depth;
      const int on = own == d || own == d - p.depth;
      memcpy(expected + at * p.block, values + on * p.block, (size_t)p.block);
    }
    qk_one_hot(&p, index, values, y);
    qk_expect_same("one_hot", y, expected, (size_t)(all * p.block), &p.outer, 4);
  }
  return 0;
}
QK_TARGET_END
