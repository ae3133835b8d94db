/* GMAC/s of the instruction that an instruction set has for products of codes, from registers. */
#ifndef QK_PEAK_H
#define QK_PEAK_H

#include "kernels/common/testing.h"

#define QK_PEAK_TIMES 100000
#if defined(QK_TARGET_AVX512VNNI)
#define QK_PEAK_MACS 64
#define QK_PEAK_STEP(i) __asm__ volatile("vpdpbusd %1, %1, %0" : "+v"(a##i) : "v"(x));
typedef __m512i qk_peak_register;
#elif defined(QK_TARGET_AVX2)
#define QK_PEAK_MACS 16
#define QK_PEAK_STEP(i)              \
  __asm__ volatile(                  \
      "vpmaddwd %1, %1, %%ymm15\n\t" \
      "vpaddd %%ymm15, %0, %0"       \
      : "+x"(a##i)                   \
      : "x"(x)                       \
      : "xmm15");
typedef __m256i qk_peak_register;
#else
#define QK_PEAK_MACS 16
#define QK_PEAK_STEP(i) __asm__ volatile("sdot %0.4s, %1.16b, %1.16b" : "+w"(a##i) : "w"(x));
typedef int32x4_t qk_peak_register;
#endif

static __attribute__((noinline)) double qk_peak(void) {
  qk_peak_register x, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11;
  const double from = qk_seconds();
  memset(&x, 0, sizeof x);
  a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = a10 = a11 = x;
  for (long i = 0; i < QK_PEAK_TIMES; ++i) {
    QK_PEAK_STEP(0)
    QK_PEAK_STEP(1)
    QK_PEAK_STEP(2)
    QK_PEAK_STEP(3)
    QK_PEAK_STEP(4)
    QK_PEAK_STEP(5)
    QK_PEAK_STEP(6)
    QK_PEAK_STEP(7)
    QK_PEAK_STEP(8)
    QK_PEAK_STEP(9)
    QK_PEAK_STEP(10)
    QK_PEAK_STEP(11)
  }
  return 12.0 * QK_PEAK_MACS * QK_PEAK_TIMES / (qk_seconds() - from) * 1e-9;
}

#endif
