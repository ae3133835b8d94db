/* Codes between places of two axes, exact with sums of 32 and of 64 bits and cut, against one loop.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/qresize/portable.c"

/* Places and weights of an axis: multiples of 2^-bits that add up to 1. */
static void axis(int32_t in, int32_t out, int32_t bits, int32_t* positions, int32_t* weights) {
  for (int32_t j = 0; j < out; ++j) {
    positions[2 * j] = qk_random_in(0, in - 1), positions[2 * j + 1] = qk_random_in(0, in - 1);
    weights[2 * j] = qk_random_in(0, 1 << bits);
    weights[2 * j + 1] = (1 << bits) - weights[2 * j];
  }
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) {
    qk_qresize_params p;
    int32_t positions[2][12], weights[2][12], from, to;
    int8_t *x, *y, *expected;
    memset(&p, 0, sizeof p);
    p.outer = qk_random_in(1, 3), p.mid = qk_random_in(1, 2), p.inner = qk_random_in(1, 5);
    for (int a = 0; a < 2; ++a) p.in[a] = qk_random_in(1, 6), p.out[a] = qk_random_in(1, 6);
    p.type_x = p.type_y = QK_I8, p.bits = qk_random_in(1, 7);
    p.zx = qk_random_in(-9, 9), p.zero = qk_random_in(-9, 9), p.lo = -128, p.hi = 127;
    p.multiplier = ldexpf(0.75f, -2 * p.bits);
    for (int a = 0; a < 2; ++a) axis(p.in[a], p.out[a], p.bits, positions[a], weights[a]);
    from = p.outer * p.in[0] * p.mid * p.in[1] * p.inner;
    to = p.outer * p.out[0] * p.mid * p.out[1] * p.inner;
    x = (int8_t*)qk_random_bytes((size_t)from);
    y = (int8_t*)qk_random_bytes((size_t)to), expected = (int8_t*)qk_random_bytes((size_t)to);
    for (int kind = 0; kind < 3; ++kind) {
      if (kind == 2) p.zx = 0; /* cut codes have the zero point of the operand */
      for (int32_t at = 0; at < to; ++at) {
        const int32_t c = at % p.inner, k = at / p.inner % p.out[1];
        const int32_t m = at / p.inner / p.out[1] % p.mid;
        const int32_t j = at / p.inner / p.out[1] / p.mid % p.out[0];
        const int32_t o = at / p.inner / p.out[1] / p.mid / p.out[0];
        int64_t sum = 0;
        for (int a = 0; a < 4; ++a) {
          const int32_t row = 2 * j + a / 2, column = 2 * k + a % 2;
          const int32_t code =
              x[(((o * p.in[0] + positions[0][row]) * p.mid + m) * p.in[1] + positions[1][column]) *
                    p.inner +
                c];
          sum += (int64_t)weights[0][row] * weights[1][column] * (code - p.zx);
        }
        expected[at] = (int8_t)(kind < 2 ? qn_rescale_wide(sum, p.multiplier, p.zero, p.lo, p.hi)
                                         : sum / ((int64_t)1 << 2 * p.bits));
      }
      if (kind == 0) qk_qresize(&p, x, positions[0], weights[0], positions[1], weights[1], y);
      if (kind == 1) qk_qresize_wide(&p, x, positions[0], weights[0], positions[1], weights[1], y);
      if (kind == 2) qk_qresize_fixed(&p, x, positions[0], weights[0], positions[1], weights[1], y);
      qk_expect_same("qresize", y, expected, (size_t)to, &p.outer, 7);
    }
  }
  return 0;
}
QK_TARGET_END
