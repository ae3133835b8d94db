#ifndef QK_COMMON_BODY_H
#define QK_COMMON_BODY_H

/* A body that is the same for several types or sizes is a file of its own, which a debugger steps
 * through line by line. It is included once for each:
 *
 *   #define QK_WITH f32, float
 *   #include "kernels/FOLDER/BODY.inc"
 *
 * The file names what it is given, `#define SUFFIX QK_ARG_1(QK_WITH)`, puts names together with
 * QK_JOIN, and at its end undefines QK_WITH and the names. In generated code the bodies stand with
 * all of this replaced (cmake/kernel_chunks.py). */

#define QK_ARG_1(...) QK_ARG_1_(__VA_ARGS__, )
#define QK_ARG_2(...) QK_ARG_2_(__VA_ARGS__, )
#define QK_ARG_3(...) QK_ARG_3_(__VA_ARGS__, )
#define QK_ARG_4(...) QK_ARG_4_(__VA_ARGS__, )
#define QK_ARG_5(...) QK_ARG_5_(__VA_ARGS__, )
#define QK_ARG_6(...) QK_ARG_6_(__VA_ARGS__, )
#define QK_ARG_7(...) QK_ARG_7_(__VA_ARGS__, )
#define QK_ARG_8(...) QK_ARG_8_(__VA_ARGS__, )
#define QK_ARG_9(...) QK_ARG_9_(__VA_ARGS__, )
#define QK_ARG_10(...) QK_ARG_10_(__VA_ARGS__, )
#define QK_ARG_1_(a, ...) a
#define QK_ARG_2_(a, b, ...) b
#define QK_ARG_3_(a, b, c, ...) c
#define QK_ARG_4_(a, b, c, d, ...) d
#define QK_ARG_5_(a, b, c, d, e, ...) e
#define QK_ARG_6_(a, b, c, d, e, f, ...) f
#define QK_ARG_7_(a, b, c, d, e, f, g, ...) g
#define QK_ARG_8_(a, b, c, d, e, f, g, h, ...) h
#define QK_ARG_9_(a, b, c, d, e, f, g, h, i, ...) i
#define QK_ARG_10_(a, b, c, d, e, f, g, h, i, j, ...) j

#define QK_JOIN(a, b) QK_JOIN_(a, b)
#define QK_JOIN3(a, b, c) QK_JOIN3_(a, b, c)
#define QK_JOIN4(a, b, c, d) QK_JOIN4_(a, b, c, d)
#define QK_JOIN_(a, b) a##b
#define QK_JOIN3_(a, b, c) a##b##c
#define QK_JOIN4_(a, b, c, d) a##b##c##d

#endif
