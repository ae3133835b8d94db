/* Taps of one axis as a chain of fused products, and places without any.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/resize/portable.c"

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) {
    qk_resize_params p;
    int32_t* index;
    int32_t all;
    float *x, *weight, *y, *expected;
    p.outer = qk_random_in(1, 3), p.in = qk_random_in(1, 6), p.out = qk_random_in(1, 8);
    p.inner = qk_random_in(1, 19), p.taps = qk_random_in(1, 4), p.fill = 7;
    all = p.outer * p.out * p.inner;
    index = (int32_t*)(void*)qk_random_bytes(4 * (size_t)(p.out * p.taps));
    for (int32_t k = 0; k < p.out * p.taps; ++k) index[k] = qk_random_in(0, p.in - 1);
    if (i % 3 == 0) index[0] = -1;
    x = qk_random_floats((size_t)(p.outer * p.in * p.inner));
    weight = qk_random_floats((size_t)(p.out * p.taps));
    y = qk_random_floats((size_t)all), expected = qk_random_floats((size_t)all);
    for (int32_t k = 0; k < all; ++k) {
      const int32_t j = k / p.inner % p.out, o = k / p.inner / p.out;
      float sum = 0;
      for (int32_t t = 0; t < p.taps && index[j * p.taps] >= 0; ++t)
        sum = fmaf(weight[j * p.taps + t],
                   x[(o * p.in + index[j * p.taps + t]) * p.inner + k % p.inner], sum);
      expected[k] = index[j * p.taps] < 0 ? p.fill : sum;
    }
    qk_resize_f32(&p, x, index, weight, y);
    qk_expect_same("resize", y, expected, 4 * (size_t)all, &p.outer, 5);
  }
  return 0;
}
QK_TARGET_END
