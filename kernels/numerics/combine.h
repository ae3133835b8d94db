/* How a scattered value meets the one already there: qn_combine_T(how, old, new). */
#ifndef QN_COMBINE_H
#define QN_COMBINE_H

#include "base.h"
#include "half.h"

enum { QN_REPLACE = 0, QN_ADD = 1, QN_MUL = 2, QN_MAX = 3, QN_MIN = 4 };

QN_FN float qn_combine_f32(int how, float a, float b) {
  switch (how) {
    case QN_ADD:
      return a + b;
    case QN_MUL:
      return a * b;
    case QN_MAX:
      return qn_max_f32(a, b);
    case QN_MIN:
      return qn_min_f32(a, b);
    default:
      return b;
  }
}
QN_FN double qn_combine_f64(int how, double a, double b) {
  switch (how) {
    case QN_ADD:
      return a + b;
    case QN_MUL:
      return a * b;
    case QN_MAX:
      return qn_max_f64(a, b);
    case QN_MIN:
      return qn_min_f64(a, b);
    default:
      return b;
  }
}
/* Small floats: computed in f32 and rounded each time. */
QN_FN uint16_t qn_combine_f16(int how, uint16_t a, uint16_t b) {
  return how == QN_REPLACE
             ? b
             : qn_f16_from_f32(qn_combine_f32(how, qn_f16_to_f32(a), qn_f16_to_f32(b)));
}
QN_FN uint16_t qn_combine_bf16(int how, uint16_t a, uint16_t b) {
  return how == QN_REPLACE
             ? b
             : qn_bf16_from_f32(qn_combine_f32(how, qn_bf16_to_f32(a), qn_bf16_to_f32(b)));
}
/* Integers wrap. */
#define QN_DEFINE_COMBINE(suffix, T)               \
  QN_FN T qn_combine_##suffix(int how, T a, T b) { \
    switch (how) {                                 \
      case QN_ADD:                                 \
        return (T)((uint64_t)a + (uint64_t)b);     \
      case QN_MUL:                                 \
        return (T)((uint64_t)a * (uint64_t)b);     \
      case QN_MAX:                                 \
        return a > b ? a : b;                      \
      case QN_MIN:                                 \
        return a < b ? a : b;                      \
      default:                                     \
        return b;                                  \
    }                                              \
  }
QN_DEFINE_COMBINE(i8, int8_t)
QN_DEFINE_COMBINE(i16, int16_t)
QN_DEFINE_COMBINE(i32, int32_t)
QN_DEFINE_COMBINE(i64, int64_t)
QN_DEFINE_COMBINE(u8, uint8_t)
QN_DEFINE_COMBINE(u16, uint16_t)
QN_DEFINE_COMBINE(u32, uint32_t)
QN_DEFINE_COMBINE(u64, uint64_t)
#undef QN_DEFINE_COMBINE

#endif /* QN_COMBINE_H */
