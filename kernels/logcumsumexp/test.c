/* Logarithms of sums so far are near those in double, also of large numbers; in place too.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/logcumsumexp/portable.c"

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) {
    qk_logcumsumexp_params p;
    int32_t all;
    float *x, *y;
    double* expected;
    p.outer = qk_random_in(1, 3), p.n = qk_random_in(1, 9), p.inner = qk_random_in(1, 3);
    all = p.outer * p.n * p.inner;
    x = qk_random_floats((size_t)all);
    y = i % 2 ? x : qk_random_floats((size_t)all);
    expected = (double*)(void*)qk_random_bytes(8 * (size_t)all);
    for (int32_t k = 0; k < all; ++k) x[k] = i % 3 ? x[k] : 100 + 50 * x[k];
    for (int32_t k = 0; k < all; ++k) {
      double sum = 0;
      for (int32_t j = k / p.inner % p.n; j >= 0; --j) sum += exp((double)x[k - j * p.inner]);
      expected[k] = log(sum);
    }
    qk_logcumsumexp_f32(&p, x, y);
    for (int32_t k = 0; k < all; ++k) {
      if (fabs((double)y[k] - expected[k]) <= 2e-6 * (1 + fabs(expected[k]))) continue;
      fprintf(stderr, "element %d is %g, expected %g\n", (int)k, (double)y[k], expected[k]);
      return 1;
    }
  }
  return 0;
}
QK_TARGET_END
