/* Speed of a vector variant of qgemm on one core: GMAC/s, and per cent of what the same process
 * measures for the instruction alone, both the best of many runs one after another. Compiled once
 * per instruction set, like the test. */
#include "kernels/common/peak.h"
#include "kernels/common/testing.h"
#include "kernels/qgemm/tested.h"

static const char* const types[] = {"i8", "u8", "", "", "f32", "i32"};

static void measure(int32_t m, int32_t n, int32_t k, int32_t type) {
  const qk_panels panels_of = PANELS;
  const qk_pack_params pack = {1, n, k, {1, 1, 1}, 0, k, 0, 1, 0};
  const size_t macs = (size_t)m * n * k;
  uint8_t* x = (uint8_t*)aligned_alloc(64, ((size_t)m * k + 63) & ~(size_t)63);
  uint8_t* y = (uint8_t*)aligned_alloc(64, ((size_t)m * n * 4 + 63) & ~(size_t)63);
  int8_t* w = (int8_t*)malloc((size_t)n * k);
  float* multipliers = (float*)malloc(4 * (size_t)n);
  uint8_t* blob =
      (uint8_t*)aligned_alloc(64, ((size_t)qk_packed_size(panels_of, &pack) + 63) & ~(size_t)63);
  double best = 1e9, peak = 0.0;
  qk_qgemm_params p;
  memset(&p, 0, sizeof p);
  p.batch = 1;
  p.m = m;
  p.n = n;
  p.k = k;
  p.x_type = QK_U8;
  p.epilogue.result.type = type;
  p.epilogue.result.hi = 255;
  for (size_t i = 0; i < (size_t)m * k; ++i) x[i] = (uint8_t)qk_random();
  for (size_t i = 0; i < (size_t)n * k; ++i) w[i] = (int8_t)qk_random();
  for (int32_t i = 0; i < n; ++i) multipliers[i] = 0.001f;
  qk_pack(panels_of, &pack, w, 0, multipliers, 0, blob);
  for (double spent = 0.0; spent < 0.4;) {
    const double now_peak = qk_peak(), from = qk_seconds();
    const int times = macs < 10000000 ? (int)(10000000 / macs) : 1;
    double took;
    for (int i = 0; i < times; ++i) BODY(&p, x, blob, 0, 0, 0, 0, 0, 0, y);
    took = (qk_seconds() - from) / times;
    spent += took * times + 0.001;
    best = took < best ? took : best;
    peak = now_peak > peak ? now_peak : peak;
  }
  printf("%5d x %4d x %4d -> %-3s %9.1f us %7.1f GMAC/s  %5.1f %% of %.1f\n", m, n, k, types[type],
         1e6 * best, 1e-9 * (double)macs / best, 1e-7 * (double)macs / best / peak, peak);
  free(x);
  free(y);
  free(w);
  free(multipliers);
  free(blob);
}

int main(void) {
  static const int32_t shapes[][4] = {
      {512, 512, 512, QK_U8},  {128, 768, 768, QK_U8},  {128, 3072, 768, QK_F32},
      {128, 384, 1536, QK_U8}, {128, 384, 384, QK_F32}, {3136, 64, 64, QK_U8},
      {3136, 256, 64, QK_U8},  {3136, 24, 144, QK_U8},  {196, 96, 576, QK_U8},
      {12544, 16, 32, QK_U8},  {1, 1000, 512, QK_F32},  {1, 4096, 4096, QK_U8},
      {127, 129, 131, QK_U8},  {512, 512, 512, QK_I32},
  };
  if (!qk_machine_has_target()) {
    printf("compiled only: this machine lacks the instructions\n");
    return 0;
  }
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    measure(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
  }
  return 0;
}
QK_TARGET_END
