/* Convolutions of floats with codes of weights against one chain of fused multiply-adds per output:
 * both layouts, groups, strides, dilations, padding on one side, zero points, scales of groups of
 * inputs and of single taps, and channels that fill no panel.
 * arithmetic.md: Q36 */
#include "kernels/common/testing.h"
#include "kernels/wconv/portable.c"

/* Codes [oc][icg][taps], scales and zero points [oc][runs][taps, or 1]. */
typedef struct model {
  const int8_t* codes;
  const float* scales;
  const int32_t* zeros; /* null: one for all */
  const float* bias;
  int32_t icg, ocg, taps, runs, scale_taps;
} model;

static int32_t scale_at(const qk_wconv_params* p, const model* m, int32_t oc, int32_t i,
                        int32_t tap) {
  return (oc * m->runs + i / p->group) * m->scale_taps + (p->by_tap ? tap : 0);
}

static int32_t element(int32_t nhwc, const int32_t* size, int32_t channels, int32_t n, int32_t c,
                       const int32_t* at) {
  const int32_t pixel = (at[0] * size[1] + at[1]) * size[2] + at[2];
  const int32_t pixels = size[0] * size[1] * size[2];
  return nhwc ? (n * pixels + pixel) * channels + c : (n * channels + c) * pixels + pixel;
}

static float plain(const qk_wconv_params* p, const model* m, const float* x, int32_t n, int32_t oc,
                   const int32_t* o) {
  float sum = m->bias ? m->bias[oc] : 0.0f;
  for (int32_t tap = 0; tap < m->taps; ++tap) {
    const int32_t k[3] = {tap / p->k[2] / p->k[1], tap / p->k[2] % p->k[1], tap % p->k[2]};
    int32_t at[3], inside = 1;
    for (int a = 0; a < 3; ++a) {
      at[a] = o[a] * p->stride[a] - p->pad[a] + k[a] * p->dilation[a];
      inside = inside && at[a] >= 0 && at[a] < p->in[a];
    }
    for (int32_t i = 0; i < m->icg && inside; ++i) {
      const int32_t s = scale_at(p, m, oc, i, tap), zero = m->zeros ? m->zeros[s] : p->zero;
      const int32_t code = m->codes[(oc * m->icg + i) * m->taps + tap] - zero;
      const float w = (float)code * m->scales[s];
      sum = fmaf(x[element(p->nhwc, p->in, p->ic, n, oc / m->ocg * m->icg + i, at)], w, sum);
    }
  }
  return sum;
}

/* What belongs to one weight, where the kernel reads it: [groups][panels][taps][inputs][16], or
 * [taps][oc] of single channels. */
static int32_t position(const qk_wconv_params* p, const model* m, int single, int32_t oc, int32_t i,
                        int32_t tap, int32_t inputs, int32_t taps) {
  const int32_t panel = oc / m->ocg * ((m->ocg + 15) / 16) + oc % m->ocg / 16;
  return single ? tap * p->oc + oc : ((panel * taps + tap) * inputs + i) * 16 + oc % m->ocg % 16;
}

static void run(const qk_wconv_params* p, const model* m, int single, const float* x, float* y) {
  const int32_t panels = single ? (p->oc + 15) / 16 : p->groups * ((m->ocg + 15) / 16);
  const size_t outputs = single ? (size_t)p->oc : (size_t)panels * 16;
  int8_t* w = (int8_t*)qk_random_bytes(outputs * (size_t)(m->icg * m->taps));
  float* scales = qk_random_floats(outputs * (size_t)(m->runs * m->scale_taps));
  int32_t* zeros = (int32_t*)qk_random_floats(outputs * (size_t)(m->runs * m->scale_taps));
  memset(zeros, 0, 4 * outputs * (size_t)(m->runs * m->scale_taps));
  for (int32_t at = 0; at < p->oc * m->icg * m->taps; ++at) {
    const int32_t oc = at / m->taps / m->icg, i = at / m->taps % m->icg, tap = at % m->taps;
    const int32_t from = scale_at(p, m, oc, i, tap);
    const int32_t to =
        position(p, m, single, oc, i / p->group, p->by_tap ? tap : 0, m->runs, m->scale_taps);
    w[position(p, m, single, oc, i, tap, m->icg, m->taps)] = m->codes[at];
    scales[to] = m->scales[from];
    if (m->zeros) zeros[to] = m->zeros[from];
  }
  if (single) {
    qk_wconv_depthwise(p, x, w, scales, m->zeros ? zeros : 0, m->bias, y);
  } else {
    qk_wconv(p, x, w, scales, m->zeros ? zeros : 0, m->bias, y);
  }
}

static qk_wconv_params parameters(int single) {
  qk_wconv_params p;
  memset(&p, 0, sizeof p);
  p.n = qk_random_in(1, 2);
  p.groups = single ? qk_random_in(1, 40) : qk_random_in(1, 2);
  p.ic = single ? p.groups : p.groups * qk_random_in(1, 5);
  p.oc = single ? p.groups : p.groups * qk_random_in(1, 40);
  p.nhwc = qk_random_in(0, 1);
  p.group = qk_random_in(1, p.ic / p.groups);
  p.by_tap = qk_random_in(0, 1);
  p.zero = qk_random_in(-3, 3);
  qk_random_window(p.in, p.out, p.k, p.stride, p.dilation, p.pad);
  return p;
}

static void check(int single) {
  const qk_wconv_params p = parameters(single);
  const int32_t pixels = p.out[0] * p.out[1] * p.out[2], count = p.n * p.oc * pixels;
  const int32_t sizes[] = {single,   p.nhwc,   p.n,     p.ic,    p.oc,
                           p.groups, p.by_tap, p.group, p.in[1], p.in[2]};
  model m = {0, 0, 0, 0, p.ic / p.groups, p.oc / p.groups, p.k[0] * p.k[1] * p.k[2], 0, 1};
  m.runs = (m.icg + p.group - 1) / p.group;
  if (p.by_tap) m.scale_taps = m.taps;
  {
    const size_t scales = (size_t)(p.oc * m.runs * m.scale_taps);
    const float* x = qk_random_floats((size_t)(p.n * p.ic * p.in[0] * p.in[1] * p.in[2]));
    float *y = qk_random_floats((size_t)count), *expected = qk_random_floats((size_t)count);
    int32_t* zeros = (int32_t*)qk_random_floats(scales);
    for (size_t i = 0; i < scales; ++i) zeros[i] = qk_random_in(-5, 5);
    m.codes = (const int8_t*)qk_random_bytes((size_t)(p.oc * m.icg * m.taps));
    m.scales = qk_random_floats(scales);
    m.zeros = qk_random() % 2 ? zeros : 0;
    m.bias = qk_random() % 3 ? qk_random_floats((size_t)p.oc) : 0;
    run(&p, &m, single, x, y);
    for (int32_t i = 0; i < count; ++i) {
      const int32_t n = i / pixels / p.oc, oc = i / pixels % p.oc, at = i % pixels;
      const int32_t o[3] = {at / p.out[2] / p.out[1], at / p.out[2] % p.out[1], at % p.out[2]};
      expected[element(p.nhwc, p.out, p.oc, n, oc, o)] = plain(&p, &m, x, n, oc, o);
    }
    qk_expect_same("wconv", y, expected, 4 * (size_t)count, sizes, 10);
  }
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 400; ++i) check(i % 2);
  return 0;
}
QK_TARGET_END
