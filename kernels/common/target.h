/* Before the kernels of one instruction set, in a file that is compiled without options for it:
 * with QK_TARGET_AVX512VNNI, QK_TARGET_AVX2 or QK_TARGET_NEON_DOTPROD defined, all functions that
 * follow may use its instructions. System headers come first, for they are not to change. They end
 * with QK_TARGET_END. */
#ifndef QK_TARGET_H
#define QK_TARGET_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(QK_TARGET_AVX512VNNI) || defined(QK_TARGET_AVX2)
#define QK_TARGET_FMA 1 /* clang's attribute leaves __FMA__ undefined */
#endif
#if defined(QK_TARGET_NEON_DOTPROD)
#define QK_TARGET_NEON 1
#endif

#if !defined(QK_TARGET_AVX512VNNI) && !defined(QK_TARGET_AVX2) && !defined(QK_TARGET_NEON_DOTPROD)
#define QK_TARGET_END
#elif defined(__clang__)
#define QK_TARGET_END _Pragma("clang attribute pop")
#if defined(QK_TARGET_AVX512VNNI)
#pragma clang attribute push(                                                          \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma"))), \
    apply_to = function)
#elif defined(QK_TARGET_AVX2)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#endif
#else
#define QK_TARGET_END _Pragma("GCC pop_options")
#pragma GCC push_options
#if defined(QK_TARGET_AVX512VNNI)
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma")
#elif defined(QK_TARGET_AVX2)
#pragma GCC target("avx2,fma")
#else
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
#endif

#endif
