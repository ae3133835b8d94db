/* What the test and the benchmark of this folder are about: the bodies of one instruction set, and
 * how their weights are packed. */
#ifndef QK_QCONV_TESTED_H
#define QK_QCONV_TESTED_H

#if defined(QK_TARGET_AVX512VNNI)
#include "kernels/qconv/avx512vnni.c"
#include "kernels/qconv/avx512vnni_depthwise.c"
#define DEPTHWISE qk_qdepthwise_avx512vnni
#define BODY qk_qconv_avx512vnni
#define UNITS qk_qconv_packed_avx512vnni_units
#define SUBRANGE qk_qconv_packed_avx512vnni_subrange
#define PANELS QK_PANELS_AVX512VNNI
#else
#include "kernels/qconv/avx2.c"
#define BODY qk_qconv_avx2
#define UNITS qk_qconv_packed_avx2_units
#define SUBRANGE qk_qconv_packed_avx2_subrange
#define PANELS QK_PANELS_AVX2
#endif

#endif
