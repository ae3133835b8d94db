/* What the test and the benchmark of this folder are about: the bodies of one instruction set, and
 * how their weights are packed. */
#ifndef QK_QGEMM_TESTED_H
#define QK_QGEMM_TESTED_H

#if defined(QK_TARGET_AVX512VNNI)
#include "kernels/qgemm/avx512vnni.c"
#define BODY qk_qgemm_avx512vnni
#define UNITS qk_qgemm_packed_avx512vnni_units
#define SUBRANGE qk_qgemm_packed_avx512vnni_subrange
#define PANELS QK_PANELS_AVX512VNNI
#elif defined(QK_TARGET_AVX2)
#include "kernels/qgemm/avx2.c"
#define BODY qk_qgemm_avx2
#define UNITS qk_qgemm_packed_avx2_units
#define SUBRANGE qk_qgemm_packed_avx2_subrange
#define PANELS QK_PANELS_AVX2
#else
#include "kernels/qgemm/neon_dotprod.c"
#define BODY qk_qgemm_neon_dotprod
#define UNITS qk_qgemm_packed_neon_dotprod_units
#define SUBRANGE qk_qgemm_packed_neon_dotprod_subrange
#define PANELS QK_PANELS_NEON_DOTPROD
#endif

#endif
