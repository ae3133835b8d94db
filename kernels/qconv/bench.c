/* Speed of a vector variant of qconv on one core, by layers of ResNet-18, ResNet-50 and
 * MobileNetV2: microseconds, GMAC/s of the taps inside the input, and per cent of what the same
 * process measures for the instruction alone, all the best of many runs one after another. Compiled
 * once per instruction set, like the test. */
#include "kernels/common/peak.h"
#include "kernels/common/testing.h"
#include "kernels/qconv/tested.h"

typedef struct layer {
  int32_t ic, oc, in, k, stride, residual; /* ic 0: depthwise */
} layer;

static const layer layers[] = {
    {3, 64, 224, 7, 2, 0},    {64, 64, 56, 3, 1, 0},   {64, 64, 56, 3, 1, 1},
    {64, 128, 56, 3, 2, 0},   {128, 128, 28, 3, 1, 0}, {128, 256, 28, 3, 2, 0},
    {256, 256, 14, 3, 1, 0},  {256, 512, 14, 3, 2, 0}, {512, 512, 7, 3, 1, 0},
    {64, 128, 56, 1, 2, 0},   {64, 64, 56, 1, 1, 0},   {64, 256, 56, 1, 1, 0},
    {64, 256, 56, 1, 1, 1},   {256, 64, 56, 1, 1, 0},  {128, 512, 28, 1, 1, 1},
    {256, 1024, 14, 1, 1, 1}, {512, 2048, 7, 1, 1, 1}, {2048, 512, 7, 1, 1, 0},
    {3, 32, 224, 3, 2, 0},    {32, 16, 112, 1, 1, 0},  {16, 96, 112, 1, 1, 0},
    {96, 24, 56, 1, 1, 0},    {24, 144, 56, 1, 1, 0},  {144, 24, 56, 1, 1, 1},
    {32, 192, 28, 1, 1, 0},   {192, 32, 28, 1, 1, 1},  {64, 384, 14, 1, 1, 0},
    {384, 64, 14, 1, 1, 1},   {96, 576, 14, 1, 1, 0},  {576, 96, 14, 1, 1, 1},
    {960, 160, 7, 1, 1, 1},   {960, 320, 7, 1, 1, 0},  {320, 1280, 7, 1, 1, 0},
};

#if defined(DEPTHWISE)
static const layer depthwise[] = {
    {0, 32, 112, 3, 1, 0}, {0, 96, 112, 3, 2, 0}, {0, 144, 56, 3, 1, 0}, {0, 144, 56, 3, 2, 0},
    {0, 192, 28, 3, 1, 0}, {0, 192, 28, 3, 2, 0}, {0, 384, 14, 3, 1, 0}, {0, 576, 14, 3, 1, 0},
    {0, 576, 14, 3, 2, 0}, {0, 960, 7, 3, 1, 0},  {0, 384, 14, 5, 1, 0},
};
#endif

/* Taps inside the input, over all outputs of one axis. */
static double taps(const layer* l, int32_t out) {
  int32_t sum = 0;
  for (int32_t o = 0; o < out; ++o) {
    for (int32_t k = 0; k < l->k; ++k) {
      const int32_t at = o * l->stride - l->k / 2 + k;
      sum += at >= 0 && at < l->in;
    }
  }
  return sum;
}

static uint8_t* room(size_t bytes) {
  uint8_t* at = (uint8_t*)aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  for (size_t i = 0; i < bytes; ++i) at[i] = (uint8_t)qk_random();
  return at;
}

static void measure(const layer* l, double seconds) {
  const qk_panels panels_of = PANELS;
  const int32_t out = (l->in - 1) / l->stride + 1;
  const double macs = taps(l, out) * taps(l, out) * (l->ic ? l->ic : 1) * l->oc;
  double best = 1e9, peak = 0.0;
  qk_qconv_params p;
  memset(&p, 0, sizeof p);
  p.n = p.nhwc = 1;
  p.groups = l->ic ? 1 : l->oc;
  p.ic = l->ic ? l->ic : l->oc;
  p.oc = l->oc;
  for (int a = 0; a < 3; ++a) {
    p.in[a] = a ? l->in : 1;
    p.out[a] = a ? out : 1;
    p.k[a] = a ? l->k : 1;
    p.stride[a] = a ? l->stride : 1;
    p.dilation[a] = 1;
    p.pad[a] = a ? l->k / 2 : 0;
  }
  p.x_type = p.epilogue.result.type = p.epilogue.add.type = p.epilogue.add.y_type = QK_U8;
  p.epilogue.result.hi = p.epilogue.add.hi = 255;
  p.epilogue.add.ra = p.epilogue.add.rb = 0.5f;
  const qk_pack_params pack = qk_qconv_packing(&p);
  uint8_t *x = room((size_t)l->in * l->in * p.ic), *y = room((size_t)out * out * l->oc);
  uint8_t *r = room((size_t)out * out * l->oc), *w = room((size_t)l->oc * p.ic * l->k * l->k);
  uint8_t* blob = room((size_t)qk_packed_size(panels_of, &pack));
  float* multipliers = (float*)malloc(4 * (size_t)l->oc);
  for (int32_t i = 0; i < l->oc; ++i) multipliers[i] = 0.001f;
  qk_pack(panels_of, &pack, w, 0, multipliers, 0, blob);
#if defined(DEPTHWISE)
  if (!l->ic) qk_pack_depthwise(&p, (const int8_t*)w, 0, multipliers, 0, blob);
#endif
  for (double spent = 0.0; spent < seconds;) {
    const double now_peak = qk_peak(), from = qk_seconds();
    double took;
    if (l->ic) BODY(&p, x, blob, 0, 0, l->residual ? r : 0, 0, y);
#if defined(DEPTHWISE)
    if (!l->ic) DEPTHWISE(&p, x, blob, 0, 0, l->residual ? r : 0, y);
#endif
    took = qk_seconds() - from;
    spent += took + 0.001;
    best = took < best ? took : best;
    peak = now_peak > peak ? now_peak : peak;
  }
  printf("%dx%d s%d %4d -> %4d @%-3d %s %8.1f us %7.1f GMAC/s  %5.1f %% of %.1f\n", l->k, l->k,
         l->stride, l->ic, l->oc, l->in, l->residual ? "added" : "     ", 1e6 * best,
         1e-9 * macs / best, 1e-7 * macs / best / peak, peak);
  free(x);
  free(y);
  free(r);
  free(w);
  free(blob);
  free(multipliers);
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.15; /* per layer */
  if (!qk_machine_has_target()) {
    printf("compiled only: this machine lacks the instructions\n");
    return 0;
  }
  for (size_t i = 0; i < sizeof layers / sizeof *layers; ++i) measure(&layers[i], seconds);
#if defined(DEPTHWISE)
  for (size_t i = 0; i < sizeof depthwise / sizeof *depthwise; ++i) measure(&depthwise[i], seconds);
#endif
  return 0;
}
QK_TARGET_END
