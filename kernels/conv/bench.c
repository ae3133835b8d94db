/* Speed of convolutions of floats whose padding keeps the size: the best of many runs. */
#include "kernels/common/bench.h"

#include "kernels/conv/portable.c"

/* Channels in and out, positions along an axis, taps along it. */
static const int32_t shapes[][4] = {
    {3, 32, 112, 3}, {64, 64, 56, 3}, {64, 256, 28, 1}, {256, 256, 14, 3}, {96, 24, 56, 1}};
/* Channels, positions, taps. */
static const int32_t depthwise[][3] = {{32, 112, 3}, {144, 28, 3}, {384, 14, 3}, {96, 28, 5}};

static qk_conv_params same(int32_t ic, int32_t oc, int32_t groups, int32_t side, int32_t k) {
  qk_conv_params p;
  memset(&p, 0, sizeof p);
  p.n = 1;
  p.ic = ic;
  p.oc = oc;
  p.groups = groups;
  for (int a = 0; a < 3; ++a) {
    p.in[a] = p.out[a] = p.valid[a] = a ? side : 1;
    p.k[a] = a ? k : 1;
    p.stride[a] = p.dilation[a] = 1;
    p.pad[a] = a ? k / 2 : 0;
  }
  p.lo = -1e9f;
  p.hi = 1e9f;
  return p;
}

static __attribute__((noinline)) void measure(const qk_conv_params* p, int single) {
  const int32_t taps = p->k[1] * p->k[2], icg = p->ic / p->groups, pixels = p->in[1] * p->in[2];
  const qk_conv_pack_params pack = {p->groups, p->oc / p->groups, icg, taps};
  const float* x = qk_random_floats((size_t)(p->ic * pixels));
  const float* w = qk_random_floats((size_t)(p->oc * icg * taps));
  float *packed = qk_random_floats((size_t)((p->oc + 15) / 16 * 16 * icg * taps)),
        *y = qk_random_floats((size_t)(p->oc * pixels));
  char what[64];
  double best;
  if (single) {
    qk_conv_depthwise_pack_f32(&pack, w, packed);
    QK_BEST(fastest, qk_conv_depthwise_f32(p, x, packed, 0, 0, y))
    best = fastest;
  } else {
    qk_conv_pack_f32(&pack, w, packed);
    QK_BEST(fastest, qk_conv_nhwc_f32(p, x, packed, 0, 0, y))
    best = fastest;
  }
  snprintf(what, sizeof what, "%s %d to %d, %d x %d, %d x %d", single ? "depthwise" : "conv", p->ic,
           p->oc, p->in[1], p->in[2], p->k[1], p->k[2]);
  qk_report(what, (double)p->oc * icg * taps * pixels, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
    const qk_conv_params p = same(shapes[i][0], shapes[i][1], 1, shapes[i][2], shapes[i][3]);
    measure(&p, 0);
  }
  for (size_t i = 0; i < sizeof depthwise / sizeof depthwise[0]; ++i) {
    const int32_t c = depthwise[i][0];
    const qk_conv_params p = same(c, c, c, depthwise[i][1], depthwise[i][2]);
    measure(&p, 1);
  }
  return 0;
}
QK_TARGET_END
