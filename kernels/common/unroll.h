/* Loops over the registers of a tile, whose bounds are constants once everything is inlined. */
#ifndef QK_EACH
/* Loops over what GPUs alone keep in registers; elsewhere they stay loops, over memory. */
#if defined(__CUDA_ARCH__)
#define QK_EACH_ON_GPU _Pragma("unroll")
#else
#define QK_EACH_ON_GPU
#endif
#if defined(__CUDA_ARCH__)
#define QK_EACH _Pragma("unroll")
#define QK_NOT_EACH _Pragma("unroll 1")
#elif defined(__CUDACC__) /* compilers of the host would warn */
#define QK_EACH
#define QK_NOT_EACH
#elif defined(__clang__)
#define QK_EACH _Pragma("clang loop unroll(full)")
#define QK_NOT_EACH _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define QK_EACH _Pragma("GCC unroll 64")
#define QK_NOT_EACH _Pragma("GCC unroll 1")
#else
#define QK_EACH
#define QK_NOT_EACH
#endif
#endif
