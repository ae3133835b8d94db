#ifndef QK_INLINE
/* Kernels are inlined into the function that fixes their parameters, so that the compiler sees
 * constants; see docs/program.md. */
#if defined(__GNUC__)
#define QK_INLINE static inline __attribute__((always_inline, unused))
#else
#define QK_INLINE static inline
#endif
#endif
