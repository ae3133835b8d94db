#include "driver/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace qc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kTimes = 100'000;
constexpr int kTries = 5;

/// Twelve independent instructions, so that none waits for another.
#define QC_TWELVE(step) \
  step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11)
#define QC_LOOP(features, function, type, step)                      \
  __attribute__((noinline, target(features))) void function() {      \
    type x, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11;        \
    std::memset(&x, 0, sizeof x);                                    \
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = a10 = a11 = x; \
    for (int64_t i = 0; i < kTimes; ++i) {                           \
      QC_TWELVE(step)                                                \
    }                                                                \
  }

#if defined(__x86_64__)
#define QC_VNNI(i) __asm__ volatile("vpdpbusd %1, %1, %0" : "+v"(a##i) : "v"(x));
#define QC_MADD(i)                                                      \
  __asm__ volatile("vpmaddwd %1, %1, %%ymm15\n\tvpaddd %%ymm15, %0, %0" \
                   : "+x"(a##i)                                         \
                   : "x"(x)                                             \
                   : "xmm15");
#define QC_FMA(i) __asm__ volatile("vfmadd231ps %1, %1, %0" : "+v"(a##i) : "v"(x));
QC_LOOP("avx512f,avx512vnni", vnni_512, __m512i, QC_VNNI)
QC_LOOP("avx512f", fma_512, __m512, QC_FMA)
QC_LOOP("avx2", madd_256, __m256i, QC_MADD)
QC_LOOP("avx2,fma", fma_256, __m256, QC_FMA)
#elif defined(__aarch64__)
#define QC_SDOT(i) __asm__ volatile("sdot %0.4s, %1.16b, %1.16b" : "+w"(a##i) : "w"(x));
#define QC_FMLA(i) __asm__ volatile("fmla %0.4s, %1.4s, %1.4s" : "+w"(a##i) : "w"(x));
#if defined(__ARM_FEATURE_DOTPROD)
QC_LOOP("arch=armv8-a+dotprod", sdot, int32x4_t, QC_SDOT)
#endif
QC_LOOP("arch=armv8-a", fmla, float32x4_t, QC_FMLA)
#endif

double least_seconds(void (*work)()) {
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const auto from = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - from).count());
  }
  return best;
}

[[maybe_unused]] double gmacs(void (*work)(), double macs_each) {
  return 12 * macs_each * static_cast<double>(kTimes) / least_seconds(work) * 1e-9;
}

/// More bytes than caches hold, read in order.
double read_gbytes() {
  constexpr size_t kWords = size_t{8} << 20;
  const std::vector<uint64_t> words(kWords, 1);
  double best = 1e9;
  volatile uint64_t sink = 0;
  for (int i = 0; i < 3; ++i) {
    const auto from = Clock::now();
    uint64_t sums[8] = {};
    for (size_t k = 0; k < kWords; k += 8) {
      for (size_t j = 0; j < 8; ++j) sums[j] += words[k + j];
    }
    for (const uint64_t sum : sums) sink = sink + sum;
    best = std::min(best, std::chrono::duration<double>(Clock::now() - from).count());
  }
  return 8.0 * static_cast<double>(kWords) / best * 1e-9;
}

}  // namespace

MachinePeak machine_peak() {
  MachinePeak out;
  out.gbytes = read_gbytes();
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) {
    out.int8_gmacs = gmacs(vnni_512, 64);
    out.int8_by = "vpdpbusd, 512 bits";
  } else if (__builtin_cpu_supports("avx2")) {
    out.int8_gmacs = gmacs(madd_256, 16);
    out.int8_by = "vpmaddwd, 256 bits";
  }
  if (__builtin_cpu_supports("avx512f")) {
    out.float_gmacs = gmacs(fma_512, 16);
    out.float_by = "vfmadd231ps, 512 bits";
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.float_gmacs = gmacs(fma_256, 8);
    out.float_by = "vfmadd231ps, 256 bits";
  }
#elif defined(__aarch64__)
  out.float_gmacs = gmacs(fmla, 4);
  out.float_by = "fmla, 128 bits";
#if defined(__ARM_FEATURE_DOTPROD)
  out.int8_gmacs = gmacs(sdot, 16);
  out.int8_by = "sdot, 128 bits";
#endif
#endif
  return out;
}

}  // namespace qc
