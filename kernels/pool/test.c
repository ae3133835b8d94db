/* Pools against one loop over the window: both layouts, strides, dilations and padding. Means are
 * taken of whole numbers, whose sums are exact in any order.
 * arithmetic.md: S11 */
#include "kernels/common/testing.h"
#include "kernels/pool/portable.c"

static int32_t element(int nhwc, const int32_t* size, int32_t channels, int32_t n, int32_t c,
                       const int32_t* at) {
  const int32_t pixel = (at[0] * size[1] + at[1]) * size[2] + at[2];
  const int32_t pixels = size[0] * size[1] * size[2];
  return nhwc ? (n * pixels + pixel) * channels + c : (n * channels + c) * pixels + pixel;
}

static float plain(const qk_pool_params* p, const float* x, int32_t n, int32_t c, const int32_t* o,
                   float* mean) {
  float most = -INFINITY, sum = 0.0f;
  int32_t taps = 0;
  for (int32_t tap = 0; tap < p->k[0] * p->k[1] * p->k[2]; ++tap) {
    const int32_t k[3] = {tap / p->k[2] / p->k[1], tap / p->k[2] % p->k[1], tap % p->k[2]};
    int32_t at[3], inside = 1;
    for (int a = 0; a < 3; ++a) {
      at[a] = o[a] * p->stride[a] - p->pad[a] + k[a] * p->dilation[a];
      inside = inside && at[a] >= 0 && at[a] < p->valid[a];
    }
    if (!inside) continue;
    const float v = x[element(p->nhwc, p->in, p->c, n, c, at)];
    most = v > most ? v : most;
    sum += v;
    ++taps;
  }
  *mean = sum / (float)taps;
  return most;
}

static void check(int nhwc) {
  qk_pool_params p;
  int32_t pixels, count;
  memset(&p, 0, sizeof p);
  p.n = qk_random_in(1, 2);
  p.c = qk_random_in(1, 40);
  p.nhwc = nhwc;
  p.power = 2;
  for (int a = 0; a < 3; ++a) {
    p.k[a] = a ? qk_random_in(1, 3) : 1;
    p.stride[a] = qk_random_in(1, 3);
    p.dilation[a] = qk_random_in(1, 2);
    p.pad[a] = p.dilation[a] == 1 ? qk_random_in(0, p.k[a] / 2) : 0;
    p.out[a] = a ? qk_random_in(1, 7) : 1;
    p.in[a] = (p.out[a] - 1) * p.stride[a] + (p.k[a] - 1) * p.dilation[a] + 1 - p.pad[a];
    p.valid[a] = qk_random() % 3 ? p.in[a] : qk_random_in(1, p.in[a]);
  }
  pixels = p.out[0] * p.out[1] * p.out[2];
  count = p.n * p.c * pixels;
  {
    const int32_t sizes[] = {nhwc, p.n, p.c, p.in[1], p.in[2], p.out[1], p.out[2], p.k[1], p.k[2]};
    const size_t inputs = (size_t)(p.n * p.c * p.in[0] * p.in[1] * p.in[2]);
    float *x = qk_random_floats(inputs), *most = qk_random_floats((size_t)count);
    float *mean = qk_random_floats((size_t)count), *most_nhwc = qk_random_floats((size_t)count);
    float *mean_nhwc = qk_random_floats((size_t)count), *expected = qk_random_floats((size_t)count);
    float* expected_mean = qk_random_floats((size_t)count);
    for (size_t i = 0; i < inputs; ++i) x[i] = (float)qk_random_in(-1000, 1000);
    qk_max_pool_f32(&p, x, most);
    qk_average_pool_f32(&p, x, mean);
    if (nhwc) qk_max_pool_nhwc_f32(&p, x, most_nhwc);
    if (nhwc) qk_average_pool_nhwc_f32(&p, x, mean_nhwc);
    for (int32_t i = 0; i < count; ++i) {
      const int32_t n = i / pixels / p.c, c = i / pixels % p.c, at = i % pixels;
      const int32_t o[3] = {at / p.out[2] / p.out[1], at / p.out[2] % p.out[1], at % p.out[2]};
      const int32_t to = element(nhwc, p.out, p.c, n, c, o);
      expected[to] = plain(&p, x, n, c, o, &expected_mean[to]);
    }
    qk_expect_same("max", most, expected, 4 * (size_t)count, sizes, 9);
    qk_expect_same("average", mean, expected_mean, 4 * (size_t)count, sizes, 9);
    if (nhwc) qk_expect_same("max_nhwc", most_nhwc, expected, 4 * (size_t)count, sizes, 9);
    if (nhwc) qk_expect_same("average_nhwc", mean_nhwc, expected_mean, 4 * (size_t)count, sizes, 9);
  }
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 300; ++i) check(i % 2);
  return 0;
}
QK_TARGET_END
