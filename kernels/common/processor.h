/* What the processor that runs this has, where the compiler has no word to ask for it: on x86-64,
 * __builtin_cpu_supports does. One text for quantc and for the code that it generates. */
#ifndef QK_PROCESSOR_H
#define QK_PROCESSOR_H

#if defined(__aarch64__)
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <stddef.h>
#include <sys/sysctl.h>
#endif

/* Whether it has NEON's dot products. Linux (Android too) and Apple's systems are asked. Elsewhere
 * nobody can be: the options of the compiler say it (-march=armv8.2-a+dotprod). */
static inline int qk_processor_has_asimddp(void) {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__APPLE__)
  int has = 0;
  size_t size = sizeof has;
  return sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, NULL, 0) == 0 && has;
#elif defined(__ARM_FEATURE_DOTPROD)
  return 1;
#else
  return 0;
#endif
}
#endif

#endif
