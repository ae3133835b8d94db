/* Speed of channels-last convolutions of floats with codes of weights, a scale for each output: the
 * best of many runs. */
#include "kernels/common/bench.h"

#include "kernels/wconv/portable.c"

/* Channels in and out, groups, positions along an axis, taps along it. */
static const int32_t shapes[][5] = {
    {64, 64, 1, 28, 3}, {64, 256, 1, 28, 1}, {32, 32, 32, 56, 3}, {384, 384, 384, 14, 3}};

static __attribute__((noinline)) void measure(const int32_t* shape) {
  const int32_t icg = shape[0] / shape[2], single = shape[2] == shape[0];
  const int32_t pixels = shape[3] * shape[3], taps = shape[4] * shape[4];
  const size_t outputs = (size_t)(shape[1] + 15) / 16 * 16;
  const float* x = qk_random_floats((size_t)(shape[0] * pixels));
  const int8_t* w = (const int8_t*)qk_random_bytes(outputs * (size_t)(icg * taps));
  const float* scales = qk_random_floats(outputs);
  float* y = qk_random_floats((size_t)(shape[1] * pixels));
  char what[64];
  double best;
  qk_wconv_params p;
  memset(&p, 0, sizeof p);
  p.n = p.nhwc = 1;
  p.ic = shape[0];
  p.oc = shape[1];
  p.groups = shape[2];
  p.group = icg;
  for (int a = 0; a < 3; ++a) {
    p.in[a] = p.out[a] = a ? shape[3] : 1;
    p.k[a] = a ? shape[4] : 1;
    p.stride[a] = p.dilation[a] = 1;
    p.pad[a] = a ? shape[4] / 2 : 0;
  }
  if (single) {
    QK_BEST(fastest, qk_wconv_depthwise(&p, x, w, scales, 0, 0, y))
    best = fastest;
  } else {
    QK_BEST(fastest, qk_wconv(&p, x, w, scales, 0, 0, y))
    best = fastest;
  }
  snprintf(what, sizeof what, "wconv%s %d to %d, %d x %d, %d x %d", single ? " depthwise" : "",
           p.ic, p.oc, p.in[1], p.in[2], p.k[1], p.k[2]);
  qk_report(what, (double)p.oc * icg * taps * pixels, best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) measure(shapes[i]);
  return 0;
}
QK_TARGET_END
