/* Element conversion. The value of a stored element is qn_get_SRC(x), of kind f32, f64, i64 or u64
 * (storage_types.inc says which); qn_put_DST_KIND(v) stores it. A cast is their composition:
 *
 *   float to integer    towards zero, saturating, NaN to 0
 *   integer to integer  the low bits (two's complement)
 *   anything to bool    1 unless it is zero; NaN gives 1
 *   to a float          to nearest even, once; the 8- and 4-bit floats saturate, e8m0 rounds up
 */
#ifndef QN_CAST_H
#define QN_CAST_H

#include "base.h"
#include "half.h"

/* ---- reading ---- */

QN_FN float qn_get_f32(float x) { return x; }
QN_FN double qn_get_f64(double x) { return x; }
QN_FN float qn_get_f16(uint16_t x) { return qn_f16_to_f32(x); }
QN_FN float qn_get_bf16(uint16_t x) { return qn_bf16_to_f32(x); }
QN_FN float qn_get_f8e4m3(uint8_t x) { return qn_f8e4m3_to_f32(x); }
QN_FN float qn_get_f8e5m2(uint8_t x) { return qn_f8e5m2_to_f32(x); }
QN_FN float qn_get_f8e4m3fnuz(uint8_t x) { return qn_f8e4m3fnuz_to_f32(x); }
QN_FN float qn_get_f8e5m2fnuz(uint8_t x) { return qn_f8e5m2fnuz_to_f32(x); }
QN_FN float qn_get_f8e8m0(uint8_t x) { return qn_f8e8m0_to_f32(x); }
QN_FN float qn_get_f4e2m1(uint8_t x) { return qn_f4e2m1_to_f32(x); }
QN_FN int64_t qn_get_i8(int8_t x) { return x; }
QN_FN int64_t qn_get_i16(int16_t x) { return x; }
QN_FN int64_t qn_get_i32(int32_t x) { return x; }
QN_FN int64_t qn_get_i64(int64_t x) { return x; }
QN_FN uint64_t qn_get_u8(uint8_t x) { return x; }
QN_FN uint64_t qn_get_u16(uint16_t x) { return x; }
QN_FN uint64_t qn_get_u32(uint32_t x) { return x; }
QN_FN uint64_t qn_get_u64(uint64_t x) { return x; }
QN_FN uint64_t qn_get_bool(uint8_t x) { return x != 0; }
QN_FN int64_t qn_get_i4(int8_t x) { return (int64_t)((x & 15) ^ 8) - 8; }
QN_FN uint64_t qn_get_u4(uint8_t x) { return x & 15u; }
QN_FN int64_t qn_get_i2(int8_t x) { return (int64_t)((x & 3) ^ 2) - 2; }
QN_FN uint64_t qn_get_u2(uint8_t x) { return x & 3u; }

/* ---- integers from floats and integers ---- */

/* T holds [low, high]; above is the first power of two over it and wide a type its values convert
 * to directly; wrap(x) makes a T of an integer. */
#define QN_DEFINE_PUT_INT(t, T, wide, low, high, above, wrap)                      \
  QN_FN T qn_put_##t##_f32(float x) {                                              \
    const int inside = (x > (float)(low)) & (x < (float)(above));                  \
    const wide v = (wide)qn_select_f32(inside, x, 0.0f);                           \
    return (T)(x <= (float)(low) ? (low) : x >= (float)(above) ? (high) : (T)v);   \
  }                                                                                \
  QN_FN T qn_put_##t##_f64(double x) {                                             \
    const int inside = (x > (double)(low)) & (x < (double)(above));                \
    const wide v = (wide)qn_select_f64(inside, x, 0.0);                            \
    return (T)(x <= (double)(low) ? (low) : x >= (double)(above) ? (high) : (T)v); \
  }                                                                                \
  QN_FN T qn_put_##t##_i64(int64_t x) { return (T)(wrap(x)); }                     \
  QN_FN T qn_put_##t##_u64(uint64_t x) { return (T)(wrap(x)); }

#define QN_WRAP_BITS(x) (x)
#define QN_WRAP_I4(x) ((int)(((unsigned)(x)&15u) ^ 8u) - 8)
#define QN_WRAP_U4(x) ((unsigned)(x)&15u)
#define QN_WRAP_I2(x) ((int)(((unsigned)(x)&3u) ^ 2u) - 2)
#define QN_WRAP_U2(x) ((unsigned)(x)&3u)

QN_DEFINE_PUT_INT(i8, int8_t, int32_t, INT8_MIN, INT8_MAX, 128, QN_WRAP_BITS)
QN_DEFINE_PUT_INT(i16, int16_t, int32_t, INT16_MIN, INT16_MAX, 32768, QN_WRAP_BITS)
QN_DEFINE_PUT_INT(i32, int32_t, int32_t, INT32_MIN, INT32_MAX, 2147483648.0, QN_WRAP_BITS)
QN_DEFINE_PUT_INT(i64, int64_t, int64_t, INT64_MIN, INT64_MAX, 0x1p63, QN_WRAP_BITS)
QN_DEFINE_PUT_INT(u8, uint8_t, int32_t, 0, UINT8_MAX, 256, QN_WRAP_BITS)
QN_DEFINE_PUT_INT(u16, uint16_t, int32_t, 0, UINT16_MAX, 65536, QN_WRAP_BITS)
QN_DEFINE_PUT_INT(u32, uint32_t, uint32_t, 0, UINT32_MAX, 4294967296.0, QN_WRAP_BITS)
QN_DEFINE_PUT_INT(u64, uint64_t, uint64_t, 0, UINT64_MAX, 0x1p64, QN_WRAP_BITS)
QN_DEFINE_PUT_INT(i4, int8_t, int32_t, -8, 7, 8, QN_WRAP_I4)
QN_DEFINE_PUT_INT(u4, uint8_t, int32_t, 0, 15, 16, QN_WRAP_U4)
QN_DEFINE_PUT_INT(i2, int8_t, int32_t, -2, 1, 2, QN_WRAP_I2)
QN_DEFINE_PUT_INT(u2, uint8_t, int32_t, 0, 3, 4, QN_WRAP_U2)
#undef QN_DEFINE_PUT_INT
#undef QN_WRAP_BITS
#undef QN_WRAP_I4
#undef QN_WRAP_U4
#undef QN_WRAP_I2
#undef QN_WRAP_U2

QN_FN uint8_t qn_put_bool_f32(float x) { return x != 0.0f; }
QN_FN uint8_t qn_put_bool_f64(double x) { return x != 0.0; }
QN_FN uint8_t qn_put_bool_i64(int64_t x) { return x != 0; }
QN_FN uint8_t qn_put_bool_u64(uint64_t x) { return x != 0; }

/* ---- floats ---- */

QN_FN float qn_put_f32_f32(float x) { return x; }
QN_FN float qn_put_f32_f64(double x) { return (float)x; }
QN_FN float qn_put_f32_i64(int64_t x) { return (float)x; }
QN_FN float qn_put_f32_u64(uint64_t x) { return (float)x; }
QN_FN double qn_put_f64_f32(float x) { return (double)x; }
QN_FN double qn_put_f64_f64(double x) { return x; }
QN_FN double qn_put_f64_i64(int64_t x) { return (double)x; }
QN_FN double qn_put_f64_u64(uint64_t x) { return (double)x; }

/* x rounded to odd: what a double cannot hold stays visible to a later rounding to fewer bits. */
QN_FN double qn_odd_f64_u64(uint64_t x) {
  const uint64_t lost = x & 0x7ffu;
  if (x < (UINT64_C(1) << 53)) return (double)x;
  return (double)((x & ~(uint64_t)0x7ffu) | (lost != 0 ? 0x800u : 0u));
}
QN_FN double qn_odd_f64_i64(int64_t x) {
  return x < 0 ? -qn_odd_f64_u64((uint64_t)0 - (uint64_t)x) : qn_odd_f64_u64((uint64_t)x);
}

#define QN_DEFINE_PUT_SMALL(t, T, from_f32, from_f64)                                 \
  QN_FN T qn_put_##t##_f32(float x) { return from_f32; }                              \
  QN_FN T qn_put_##t##_f64(double x) { return from_f64; }                             \
  QN_FN T qn_put_##t##_i64(int64_t x) { return qn_put_##t##_f64(qn_odd_f64_i64(x)); } \
  QN_FN T qn_put_##t##_u64(uint64_t x) { return qn_put_##t##_f64(qn_odd_f64_u64(x)); }

QN_DEFINE_PUT_SMALL(f16, uint16_t, qn_f16_from_f32(x), qn_f16_from_f64(x))
QN_DEFINE_PUT_SMALL(bf16, uint16_t, qn_bf16_from_f32(x), qn_bf16_from_f64(x))
QN_DEFINE_PUT_SMALL(f8e4m3, uint8_t, qn_f8e4m3_from_f64((double)x, 1), qn_f8e4m3_from_f64(x, 1))
QN_DEFINE_PUT_SMALL(f8e5m2, uint8_t, qn_f8e5m2_from_f64((double)x, 1), qn_f8e5m2_from_f64(x, 1))
QN_DEFINE_PUT_SMALL(f8e4m3fnuz, uint8_t, qn_f8e4m3fnuz_from_f64((double)x, 1),
                    qn_f8e4m3fnuz_from_f64(x, 1))
QN_DEFINE_PUT_SMALL(f8e5m2fnuz, uint8_t, qn_f8e5m2fnuz_from_f64((double)x, 1),
                    qn_f8e5m2fnuz_from_f64(x, 1))
QN_DEFINE_PUT_SMALL(f8e8m0, uint8_t, qn_f8e8m0_from_f64((double)x, 1, QN_ROUND_UP),
                    qn_f8e8m0_from_f64(x, 1, QN_ROUND_UP))
QN_DEFINE_PUT_SMALL(f4e2m1, uint8_t, qn_f4e2m1_from_f64((double)x), qn_f4e2m1_from_f64(x))
#undef QN_DEFINE_PUT_SMALL

#endif /* QN_CAST_H */
