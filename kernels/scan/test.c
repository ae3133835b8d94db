/* Sums, products and extremes so far, from either end, in place too, against sums anew.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/scan/portable.c"

static void sums(int in_place) {
  qk_scan_params p;
  int32_t *x, *y, *expected, all;
  p.outer = qk_random_in(1, 3), p.n = qk_random_in(1, 9), p.inner = qk_random_in(1, 3);
  p.exclusive = qk_random_in(0, 1), p.reverse = qk_random_in(0, 1);
  all = p.outer * p.n * p.inner;
  x = (int32_t*)(void*)qk_random_bytes(4 * (size_t)all);
  y = in_place ? x : (int32_t*)(void*)qk_random_bytes(4 * (size_t)all);
  expected = (int32_t*)(void*)qk_random_bytes(4 * (size_t)all);
  for (int32_t i = 0; i < all; ++i) x[i] = qk_random_in(-99, 99);
  for (int32_t i = 0; i < all; ++i) {
    const int32_t k = i / p.inner % p.n;
    expected[i] = 0;
    for (int32_t j = 0; j < p.n; ++j) {
      const int32_t past = p.reverse ? j - k : k - j;
      if (past > 0 || (past == 0 && !p.exclusive)) expected[i] += x[i + (j - k) * p.inner];
    }
  }
  qk_scan_sum_i32(&p, x, y);
  qk_expect_same("scan sum", y, expected, 4 * (size_t)all, &p.outer, 5);
}

static void extremes(void) {
  qk_extreme_params p;
  int8_t *x, *y, expected[64];
  int64_t *at, positions[64];
  int32_t all;
  p.outer = qk_random_in(1, 2), p.n = qk_random_in(1, 8), p.inner = qk_random_in(1, 3);
  all = p.outer * p.n * p.inner;
  x = (int8_t*)qk_random_bytes((size_t)all), y = (int8_t*)qk_random_bytes((size_t)all);
  at = (int64_t*)(void*)qk_random_bytes(8 * (size_t)all);
  for (int32_t i = 0; i < all; ++i) x[i] = (int8_t)qk_random_in(-3, 3);
  for (int32_t i = 0; i < all; ++i) {
    const int32_t k = i / p.inner % p.n;
    positions[i] = 0;
    for (int32_t j = 0; j <= k; ++j) {
      if (x[i + (j - k) * p.inner] >= x[i + ((int32_t)positions[i] - k) * p.inner])
        positions[i] = j;
    }
    expected[i] = x[i + ((int32_t)positions[i] - k) * p.inner];
  }
  qk_scan_max_i8(&p, x, y, at);
  qk_expect_same("scan max", y, expected, (size_t)all, &p.outer, 3);
  qk_expect_same("positions", at, positions, 8 * (size_t)all, &p.outer, 3);
}

/* Up to 16 elements are one chain, whose sums are plain ones. */
static void floats(void) {
  const qk_scan_params p = {1, qk_random_in(1, 16), 1, 0, 0};
  float *x = qk_random_floats((size_t)p.n), *y = qk_random_floats((size_t)p.n), expected[16],
        sum = 0;
  for (int32_t i = 0; i < p.n; ++i) expected[i] = sum = sum + x[i];
  qk_scan_sum_f32(&p, x, y);
  qk_expect_same("scan sum f32", y, expected, 4 * (size_t)p.n, &p.n, 1);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) {
    sums(i % 2);
    extremes();
    floats();
  }
  return 0;
}
QK_TARGET_END
