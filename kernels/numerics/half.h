/* The small floats: decoding is exact; encoding rounds to nearest even, once, from float or double.
 * `saturate` turns what is too large, infinities included, into the largest finite value; without
 * it the format's infinity or NaN comes out, as ONNX Cast defines. A NaN keeps its sign where the
 * format has signed NaNs. Codes sit in the low bits of a byte or of a 16-bit word.
 */
#ifndef QN_HALF_H
#define QN_HALF_H

#include "base.h"

/* ---- f16 and bf16 ---- */

QN_FN float qn_f16_to_f32(uint16_t h) {
  const uint32_t magnitude = (uint32_t)(h & 0x7fffu) << 13;
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const float scaled = qn_from_bits_f32(magnitude) * 0x1p112f; /* exact, denormals too */
  const uint32_t u = qn_bits_f32(scaled) | (magnitude >= 0x0f800000u ? 0x7f800000u : 0u);
  return qn_from_bits_f32(u | sign);
}
QN_FN uint16_t qn_f16_from_f32(float x) {
  const uint32_t u = qn_bits_f32(x);
  const uint32_t a = u & 0x7fffffffu;
  const uint32_t sign = (u >> 16) & 0x8000u;
  const uint32_t normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
  /* Adding 1/2 leaves multiples of 2^-24, the smallest f16, in the low bits. */
  const uint32_t denormal = qn_bits_f32(qn_from_bits_f32(a) + 0.5f) - 0x3f000000u;
  uint32_t r = a < 0x38800000u ? denormal : normal;
  r = a >= 0x477ff000u ? 0x7c00u : r;
  r = a > 0x7f800000u ? 0x7e00u : r;
  return (uint16_t)(r | sign);
}

QN_FN float qn_bf16_to_f32(uint16_t h) { return qn_from_bits_f32((uint32_t)h << 16); }
QN_FN uint16_t qn_bf16_from_f32(float x) {
  const uint32_t u = qn_bits_f32(x);
  const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const uint32_t nan = ((u >> 16) & 0x8000u) | 0x7fc0u;
  return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

QN_FN double qn_f16_to_f64(uint16_t h) { return (double)qn_f16_to_f32(h); }
QN_FN double qn_bf16_to_f64(uint16_t h) { return (double)qn_bf16_to_f32(h); }

/* ---- any binary format ---- */

/* |x| rounded to `mantissa` bits with this exponent bias, as a code without a limit above: an
 * overflow carries on into codes the format does not have. x is not NaN. */
QN_FN uint32_t qn_small_magnitude(double x, int mantissa, int bias) {
  const uint64_t u = qn_bits_f64(x) & UINT64_C(0x7fffffffffffffff);
  const int exponent = (int)(u >> 52) - 1023;
  const uint64_t full = (u & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
  const int low = 1 - bias;
  const int shift = 52 - mantissa + (exponent < low ? low - exponent : 0);
  uint64_t r;
  if (shift > 54) return 0; /* below half of the smallest */
  if (exponent > 300) return 0x7fffffffu;
  r = (full + ((UINT64_C(1) << (shift - 1)) - 1) + ((full >> shift) & 1)) >> shift;
  return (uint32_t)r + ((uint32_t)((exponent < low ? low : exponent) + bias - 1) << mantissa);
}

/* The value of a code: exponent field, then `mantissa` bits. Exact; no special codes. */
QN_FN float qn_small_value(uint32_t magnitude, int mantissa, int bias) {
  const uint32_t fraction = magnitude & ((1u << mantissa) - 1u);
  const int field = (int)(magnitude >> mantissa);
  const uint32_t m = field > 0 ? fraction | (1u << mantissa) : fraction;
  const int power = (field > 0 ? field : 1) - bias - mantissa;
  return (float)m * qn_from_bits_f32((uint32_t)(power + 127) << 23);
}

QN_FN uint16_t qn_f16_from_f64(double x) {
  const uint32_t sign = (uint32_t)(qn_bits_f64(x) >> 48) & 0x8000u;
  uint32_t r;
  if (qn_isnan_f64(x)) return (uint16_t)(sign | 0x7e00u);
  r = qn_small_magnitude(x, 10, 15);
  return (uint16_t)(sign | (r > 0x7c00u ? 0x7c00u : r));
}
QN_FN uint16_t qn_bf16_from_f64(double x) {
  const uint32_t sign = (uint32_t)(qn_bits_f64(x) >> 48) & 0x8000u;
  uint32_t r;
  if (qn_isnan_f64(x)) return (uint16_t)(sign | 0x7fc0u);
  r = qn_small_magnitude(x, 7, 127);
  return (uint16_t)(sign | (r > 0x7f80u ? 0x7f80u : r));
}

/* ---- 8 bits ---- */

/* 1.4.3, bias 7, no infinity, NaN 0x7f. */
QN_FN uint8_t qn_f8e4m3_from_f64(double x, int saturate) {
  const uint32_t sign = (uint32_t)(qn_bits_f64(x) >> 56) & 0x80u;
  uint32_t r;
  if (qn_isnan_f64(x)) return (uint8_t)(sign | 0x7fu);
  r = qn_small_magnitude(x, 3, 7);
  return (uint8_t)(sign | (r > 0x7eu ? (saturate ? 0x7eu : 0x7fu) : r));
}
QN_FN float qn_f8e4m3_to_f32(uint8_t c) {
  const float a = (c & 0x7fu) == 0x7fu ? QN_NAN_F32 : qn_small_value(c & 0x7fu, 3, 7);
  return (c & 0x80u) ? -a : a;
}

/* 1.5.2, bias 15, infinity 0x7c, NaN above it. */
QN_FN uint8_t qn_f8e5m2_from_f64(double x, int saturate) {
  const uint32_t sign = (uint32_t)(qn_bits_f64(x) >> 56) & 0x80u;
  uint32_t r;
  if (qn_isnan_f64(x)) return (uint8_t)(sign | 0x7eu);
  r = qn_small_magnitude(x, 2, 15);
  return (uint8_t)(sign | (r > 0x7bu ? (saturate ? 0x7bu : 0x7cu) : r));
}
QN_FN float qn_f8e5m2_to_f32(uint8_t c) { return qn_f16_to_f32((uint16_t)((uint32_t)c << 8)); }

/* 1.4.3, bias 8, one zero, the one NaN is 0x80. */
QN_FN uint8_t qn_f8e4m3fnuz_from_f64(double x, int saturate) {
  const uint32_t sign = (uint32_t)(qn_bits_f64(x) >> 56) & 0x80u;
  uint32_t r;
  if (qn_isnan_f64(x)) return 0x80u;
  r = qn_small_magnitude(x, 3, 8);
  if (r > 0x7fu) return (uint8_t)(saturate ? sign | 0x7fu : 0x80u);
  return (uint8_t)(r == 0 ? 0u : sign | r);
}
QN_FN float qn_f8e4m3fnuz_to_f32(uint8_t c) {
  const float a = c == 0x80u ? QN_NAN_F32 : qn_small_value(c & 0x7fu, 3, 8);
  return (c & 0x80u) ? -a : a;
}

/* 1.5.2, bias 16, one zero, the one NaN is 0x80. */
QN_FN uint8_t qn_f8e5m2fnuz_from_f64(double x, int saturate) {
  const uint32_t sign = (uint32_t)(qn_bits_f64(x) >> 56) & 0x80u;
  uint32_t r;
  if (qn_isnan_f64(x)) return 0x80u;
  r = qn_small_magnitude(x, 2, 16);
  if (r > 0x7fu) return (uint8_t)(saturate ? sign | 0x7fu : 0x80u);
  return (uint8_t)(r == 0 ? 0u : sign | r);
}
QN_FN float qn_f8e5m2fnuz_to_f32(uint8_t c) {
  const float a = c == 0x80u ? QN_NAN_F32 : qn_small_value(c & 0x7fu, 2, 16);
  return (c & 0x80u) ? -a : a;
}

/* A power of two, 2^(c - 127), NaN 0xff; the sign is ignored, 0 gives the smallest. */
enum { QN_ROUND_UP = 0, QN_ROUND_DOWN = 1, QN_ROUND_NEAREST = 2 };
QN_FN uint8_t qn_f8e8m0_from_f64(double x, int saturate, int mode) {
  const uint64_t u = qn_bits_f64(x) & UINT64_C(0x7fffffffffffffff);
  const uint64_t fraction = u & UINT64_C(0xfffffffffffff);
  int code = (int)(u >> 52) - 1023 + 127;
  if (qn_isnan_f64(x)) return 0xffu;
  if (mode == QN_ROUND_UP && fraction != 0) code += 1;
  if (mode == QN_ROUND_NEAREST && fraction >= UINT64_C(0x8000000000000)) code += 1;
  if (code < 0) return 0;
  if (code > 254) return saturate ? 0xfeu : 0xffu;
  return (uint8_t)code;
}
QN_FN float qn_f8e8m0_to_f32(uint8_t c) {
  if (c == 0xffu) return QN_NAN_F32;
  return qn_from_bits_f32(c == 0 ? 0x00400000u : (uint32_t)c << 23);
}

/* ---- 4 bits: 1.2.1, bias 1, always saturating, NaN becomes -0 as in the ONNX reference ---- */

QN_FN uint8_t qn_f4e2m1_from_f64(double x) {
  const uint32_t sign = (uint32_t)(qn_bits_f64(x) >> 60) & 0x8u;
  uint32_t r;
  if (qn_isnan_f64(x)) return 8u;
  r = qn_small_magnitude(x, 1, 1);
  return (uint8_t)(sign | (r > 7u ? 7u : r));
}
QN_FN float qn_f4e2m1_to_f32(uint8_t c) {
  const float a = qn_small_value(c & 7u, 1, 1);
  return (c & 8u) ? -a : a;
}

#endif /* QN_HALF_H */
