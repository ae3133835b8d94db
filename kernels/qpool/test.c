/* Means of codes against exact sums over the window and one rounding.
 * arithmetic.md: Q52 */
#include "kernels/common/testing.h"
#include "kernels/qpool/portable.c"

static void check(int nhwc) {
  qk_qpool_params p;
  int32_t pixels, count;
  memset(&p, 0, sizeof p);
  p.n = 1;
  p.c = qk_random_in(1, 40);
  p.nhwc = nhwc;
  for (int a = 0; a < 3; ++a) {
    p.k[a] = a ? qk_random_in(1, 3) : 1;
    p.stride[a] = qk_random_in(1, 3);
    p.dilation[a] = 1;
    p.pad[a] = qk_random_in(0, p.k[a] / 2);
    p.out[a] = a ? qk_random_in(1, 7) : 1;
    p.in[a] = (p.out[a] - 1) * p.stride[a] + p.k[a] - p.pad[a];
    p.valid[a] = p.in[a];
  }
  p.type_x = p.type_y = QK_I8;
  p.zx = qk_random_in(-128, 127);
  p.zero = qk_random_in(-128, 127);
  p.lo = p.lowest = -128;
  p.hi = 127;
  p.sx = 0.02f;
  p.sy = 0.013f;
  pixels = p.out[1] * p.out[2];
  count = p.c * pixels;
  {
    const int32_t sizes[] = {nhwc, p.c, p.in[1], p.in[2], p.out[1], p.out[2], p.k[1], p.k[2]};
    const int8_t* x = (const int8_t*)qk_random_bytes((size_t)(p.c * p.in[1] * p.in[2]));
    int8_t* y = (int8_t*)qk_random_bytes((size_t)count);
    int8_t* expected = (int8_t*)qk_random_bytes((size_t)count);
    qk_qavg_pool(&p, (const void*)x, (void*)y);
    for (int32_t i = 0; i < count; ++i) {
      const int32_t c = i / pixels, oh = i % pixels / p.out[2], ow = i % p.out[2];
      int32_t sum = 0, taps = 0;
      for (int32_t k = 0; k < p.k[1] * p.k[2]; ++k) {
        const int32_t h = oh * p.stride[1] - p.pad[1] + k / p.k[2];
        const int32_t w = ow * p.stride[2] - p.pad[2] + k % p.k[2];
        if (h < 0 || w < 0 || h >= p.in[1] || w >= p.in[2]) continue;
        sum += x[nhwc ? (h * p.in[2] + w) * p.c + c : (c * p.in[1] + h) * p.in[2] + w] - p.zx;
        ++taps;
      }
      expected[nhwc ? i % pixels * p.c + c : i] =
          (int8_t)qn_mean_code(sum, taps, p.sx, p.sy, p.zero, p.lo, p.hi);
    }
    qk_expect_same("qavg_pool", y, expected, (size_t)count, sizes, 8);
  }
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 300; ++i) check(i % 2);
  return 0;
}
QK_TARGET_END
