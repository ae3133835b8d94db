/* Triangles of every size and diagonal, in place too, against one loop.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/trilu/portable.c"

static void run(int32_t bytes, const qk_trilu_params* p, const void* x, void* y) {
  if (bytes == 1) qk_trilu_1(p, x, y);
  if (bytes == 2) qk_trilu_2(p, x, y);
  if (bytes == 4) qk_trilu_4(p, x, y);
  if (bytes == 8) qk_trilu_8(p, x, y);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 400; ++i) {
    const int32_t bytes = 1 << i % 4;
    qk_trilu_params p;
    int32_t all;
    uint8_t *x, *y, *expected;
    p.batch = qk_random_in(1, 3), p.rows = qk_random_in(1, 7), p.columns = qk_random_in(1, 7);
    p.k = qk_random_in(-9, 9), p.upper = qk_random_in(0, 1);
    all = p.batch * p.rows * p.columns;
    x = qk_random_bytes((size_t)(all * bytes));
    y = i / 4 % 2 ? x : qk_random_bytes((size_t)(all * bytes));
    expected = qk_random_bytes((size_t)(all * bytes));
    for (int32_t at = 0; at < all; ++at) {
      const int32_t above = at % p.columns - at / p.columns % p.rows - p.k;
      if (p.upper ? above >= 0 : above <= 0) {
        memcpy(expected + at * bytes, x + at * bytes, (size_t)bytes);
      } else {
        memset(expected + at * bytes, 0, (size_t)bytes);
      }
    }
    run(bytes, &p, x, y);
    qk_expect_same("trilu", y, expected, (size_t)(all * bytes), &p.batch, 5);
  }
  return 0;
}
QK_TARGET_END
