/* What the test and the benchmark of this folder are about: the body of one instruction set, or the
 * portable one where that has none for a call. */
#ifndef QK_QATTENTION_TESTED_H
#define QK_QATTENTION_TESTED_H

#include "kernels/qattention/portable.c"
#if defined(QK_TARGET_AVX512VNNI)
#include "kernels/qattention/avx512vnni.c"
#define BODY(p, ...)                                                       \
  ((p)->depth >= QK_BYTES_LEAST_DEPTH && (p)->depth <= QK_BYTES_MOST_DEPTH \
       ? qk_qattention_avx512vnni((p), __VA_ARGS__)                        \
       : qk_qattention_i8((p), __VA_ARGS__))
#else
#define BODY(p, ...) qk_qattention_i8((p), __VA_ARGS__)
#endif

#endif
