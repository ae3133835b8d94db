/* Which vector instructions kernels may use. Code that is generated for a target says so itself
 * (kernels/isa.table); portable code takes what the compiler's options allow. Here alone portable
 * bodies learn of it. With QK_LANES_WORDS vectors of 512 bits hold 16-bit numbers, too, whose
 * products are summed in pairs in one step with QK_LANES_DOT. */
#ifndef QK_LANES_H
#define QK_LANES_H

#if defined(QK_TARGET_AVX512VNNI)
#define QK_TARGET_AVX512 1
#elif !defined(QK_TARGET_AVX512) && !defined(QK_TARGET_AVX2) && defined(__GNUC__)
#if defined(__AVX512F__) && defined(__AVX512VL__)
#define QK_TARGET_AVX512 1
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
#define QK_TARGET_AVX512BW 1
#endif
#elif defined(__AVX2__) && defined(__FMA__)
#define QK_TARGET_AVX2 1
#elif defined(__aarch64__)
#define QK_TARGET_NEON 1
#endif
#endif

#if defined(QK_TARGET_AVX512VNNI) || defined(QK_TARGET_AVX512BW)
#define QK_LANES_WORDS 1
#endif
#if defined(QK_TARGET_AVX512VNNI) || defined(__AVX512VNNI__)
#define QK_LANES_DOT 1
#endif

#endif
