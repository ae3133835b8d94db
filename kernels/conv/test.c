/* Convolutions against one chain of fused multiply-adds per output: strides, dilations, padding on
 * one side, groups, and channels that fill no panel.
 * arithmetic.md: S1 */
#include "kernels/common/testing.h"
#include "kernels/conv/portable.c"

static int32_t element(const qk_conv_params* p, int nhwc, const int32_t* size, int32_t channels,
                       int32_t n, int32_t c, const int32_t* at) {
  const int32_t pixel = (at[0] * size[1] + at[1]) * size[2] + at[2];
  const int32_t pixels = size[0] * size[1] * size[2];
  (void)p;
  return nhwc ? (n * pixels + pixel) * channels + c : (n * channels + c) * pixels + pixel;
}

static float plain(const qk_conv_params* p, int nhwc, const float* x, const float* w,
                   const float* bias, int32_t n, int32_t oc, const int32_t* o) {
  const int32_t icg = p->ic / p->groups, g = oc / (p->oc / p->groups);
  float sum = bias ? bias[oc] : 0.0f;
  for (int32_t tap = 0; tap < p->k[0] * p->k[1] * p->k[2]; ++tap) {
    const int32_t k[3] = {tap / p->k[2] / p->k[1], tap / p->k[2] % p->k[1], tap % p->k[2]};
    int32_t at[3], inside = 1;
    for (int a = 0; a < 3; ++a) {
      at[a] = o[a] * p->stride[a] - p->pad[a] + k[a] * p->dilation[a];
      inside = inside && at[a] >= 0 && at[a] < p->valid[a];
    }
    for (int32_t i = 0; i < icg && inside; ++i) {
      sum = fmaf(x[element(p, nhwc, p->in, p->ic, n, g * icg + i, at)],
                 w[(oc * icg + i) * p->k[0] * p->k[1] * p->k[2] + tap], sum);
    }
  }
  return sum < p->lo ? p->lo : sum > p->hi ? p->hi : sum;
}

static void check(int path) { /* 0: nchw, 1: nhwc, 2: depthwise */
  qk_conv_params p;
  int32_t taps, icg, pixels;
  memset(&p, 0, sizeof p);
  p.n = qk_random_in(1, 2);
  p.groups = path == 2 ? qk_random_in(1, 40) : qk_random_in(1, 2);
  p.ic = path == 2 ? p.groups : p.groups * qk_random_in(1, 5);
  p.oc = path == 2 ? p.groups : p.groups * qk_random_in(1, 40);
  qk_random_window(p.in, p.out, p.k, p.stride, p.dilation, p.pad);
  for (int a = 0; a < 3; ++a) {
    p.valid[a] = qk_random() % 3 ? p.in[a] : qk_random_in(1, p.in[a]);
  }
  p.lo = -0.6f;
  p.hi = 0.8f;
  taps = p.k[0] * p.k[1] * p.k[2];
  icg = p.ic / p.groups;
  pixels = p.out[0] * p.out[1] * p.out[2];
  {
    const int32_t sizes[] = {path, p.n, p.ic, p.oc, p.groups, p.in[1], p.in[2], p.out[1], p.out[2]};
    const qk_conv_pack_params pack = {p.groups, p.oc / p.groups, icg, taps};
    const size_t packed_size = path == 2 ? (size_t)(taps * p.oc)
                                         : (size_t)p.groups *
                                               (((size_t)(p.oc / p.groups) + 15) / 16 * 16) *
                                               (size_t)(icg * taps);
    const float* x = qk_random_floats((size_t)(p.n * p.ic * p.in[0] * p.in[1] * p.in[2]));
    const float* w = qk_random_floats((size_t)(p.oc * icg * taps));
    const float* bias = qk_random() % 3 ? qk_random_floats((size_t)p.oc) : 0;
    float* packed = qk_random_floats(packed_size);
    float *y = qk_random_floats((size_t)(p.n * p.oc * pixels)),
          *expected = qk_random_floats((size_t)(p.n * p.oc * pixels));
    if (path == 0) {
      qk_conv_nchw_f32(&p, x, w, bias, 0, y);
    } else if (path == 1) {
      qk_conv_pack_f32(&pack, w, packed);
      qk_conv_nhwc_f32(&p, x, packed, bias, 0, y);
    } else {
      qk_conv_depthwise_pack_f32(&pack, w, packed);
      qk_conv_depthwise_f32(&p, x, packed, bias, 0, y);
    }
    for (int32_t n = 0; n < p.n; ++n) {
      for (int32_t at = 0; at < pixels * p.oc; ++at) {
        const int32_t oc = at / pixels, i = at % pixels;
        const int32_t o[3] = {i / p.out[2] / p.out[1], i / p.out[2] % p.out[1], i % p.out[2]};
        expected[element(&p, path != 0, p.out, p.oc, n, oc, o)] =
            plain(&p, path != 0, x, w, bias, n, oc, o);
      }
    }
    qk_expect_same("conv", y, expected, 4 * (size_t)(p.n * p.oc * pixels), sizes, 9);
  }
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 450; ++i) check(i % 3);
  return 0;
}
QK_TARGET_END
