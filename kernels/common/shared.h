/* A part that several kernels call and that would only be copied by inlining it. */
#ifndef QK_SHARED
#if defined(__GNUC__)
#define QK_SHARED static __attribute__((noinline, unused))
#else
#define QK_SHARED static
#endif
#endif
