/* What elementwise kernels share: the element types and the loops of broadcasting. */
#ifndef QK_ELEMENTWISE_H
#define QK_ELEMENTWISE_H
#include <stdint.h>

/* X(op, suffix, S, T, t, LOAD, STORE): elements stored as S are computed as T with the functions
 * qn_OP_t; LOAD and STORE convert. */
#define QK_SAME(v) (v)
#define QK_F32_TYPE(X, op) X(op, f32, float, float, f32, QK_SAME, QK_SAME)
#define QK_16_BIT_TYPES(X, op)                                     \
  X(op, f16, uint16_t, float, f32, qn_f16_to_f32, qn_f16_from_f32) \
  X(op, bf16, uint16_t, float, f32, qn_bf16_to_f32, qn_bf16_from_f32)
#define QK_OTHER_FLOAT_TYPES(X, op)                 \
  X(op, f64, double, double, f64, QK_SAME, QK_SAME) \
  QK_16_BIT_TYPES(X, op)
#define QK_FLOAT_TYPES(X, op) QK_F32_TYPE(X, op) QK_OTHER_FLOAT_TYPES(X, op)
#define QK_INT_TYPES(X, op)                             \
  X(op, i8, int8_t, int8_t, i8, QK_SAME, QK_SAME)       \
  X(op, i16, int16_t, int16_t, i16, QK_SAME, QK_SAME)   \
  X(op, i32, int32_t, int32_t, i32, QK_SAME, QK_SAME)   \
  X(op, i64, int64_t, int64_t, i64, QK_SAME, QK_SAME)   \
  X(op, u8, uint8_t, uint8_t, u8, QK_SAME, QK_SAME)     \
  X(op, u16, uint16_t, uint16_t, u16, QK_SAME, QK_SAME) \
  X(op, u32, uint32_t, uint32_t, u32, QK_SAME, QK_SAME) \
  X(op, u64, uint64_t, uint64_t, u64, QK_SAME, QK_SAME)

/* The result is walked in the order of its bytes, operands with element strides; 0 repeats. */
typedef struct {
  int32_t rank; /* 1 to 8 */
  int32_t dims[8];
  int32_t a[8], b[8];
} qk_broadcast2_params;

typedef struct {
  int32_t rank; /* 1 to 8 */
  int32_t dims[8];
  int32_t a[8], b[8], c[8];
} qk_broadcast3_params;

/* y[i] = STORE(FN(LOAD(a), LOAD(b))) over all elements of the result; RUN is the innermost loop. */
#define QK_BROADCAST2(p, T, LOAD, STORE, FN, RUN, a, b, y)                                       \
  const int32_t last = (p)->rank - 1, n = (p)->dims[last], sa = (p)->a[last], sb = (p)->b[last]; \
  int32_t index[8] = {0}, d = 0, total = 1;                                                      \
  for (; d <= last; ++d) total *= (p)->dims[d];                                                  \
  if (total == 0) return;                                                                        \
  for (;;) {                                                                                     \
    RUN(T, LOAD, STORE, FN, a, b, y)                                                             \
    y += n;                                                                                      \
    for (d = last - 1; d >= 0 && ++index[d] == (p)->dims[d]; --d) {                              \
      index[d] = 0;                                                                              \
      a -= ((p)->dims[d] - 1) * (p)->a[d], b -= ((p)->dims[d] - 1) * (p)->b[d];                  \
    }                                                                                            \
    if (d < 0) return;                                                                           \
    a += (p)->a[d], b += (p)->b[d];                                                              \
  }

/* Strides 0 and 1 become constants where the call's parameters are. */
#define QK_RUN2(T, LOAD, STORE, FN, a, b, y) \
  for (int32_t i = 0; i < n; ++i) y[i] = STORE(FN(LOAD(a[i * sa]), LOAD(b[i * sb])));
/* The same with loops of their own for strides 0 and 1, for parameters known at run time only. */
#define QK_RUN2_FAST(T, LOAD, STORE, FN, a, b, y)                             \
  if (sa == 1 && sb == 1) {                                                   \
    for (int32_t i = 0; i < n; ++i) y[i] = STORE(FN(LOAD(a[i]), LOAD(b[i]))); \
  } else if (sa == 1 && sb == 0) {                                            \
    const T v = LOAD(b[0]);                                                   \
    for (int32_t i = 0; i < n; ++i) y[i] = STORE(FN(LOAD(a[i]), v));          \
  } else if (sa == 0 && sb == 1) {                                            \
    const T v = LOAD(a[0]);                                                   \
    for (int32_t i = 0; i < n; ++i) y[i] = STORE(FN(v, LOAD(b[i])));          \
  } else {                                                                    \
    QK_RUN2(T, LOAD, STORE, FN, a, b, y)                                      \
  }

#endif
