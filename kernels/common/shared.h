/* A part that several kernels call and that would only be copied by inlining it. */
#ifndef QK_SHARED
#if defined(__GNUC__)
#define QK_SHARED static __attribute__((noinline, unused))
#else
#define QK_SHARED static
#endif
#endif

/* Whether the compiler knows what n is: code that falls away for one number is worth inlining, code
 * for any number is shared. Both compute the same. */
#ifndef QK_IS_NUMBER
#if defined(__GNUC__) && !defined(__CUDACC__)
#define QK_IS_NUMBER(n) __builtin_constant_p(n)
#else
#define QK_IS_NUMBER(n) 1
#endif
#endif
