/* Rescaling with integers only, for cores without float hardware: one rounding, half to even. */
#ifndef QN_QUANT_Q31_H
#define QN_QUANT_Q31_H

#include "kernels/numerics/base.h"

/* A float multiplier m >= 0 is mantissa * 2^-shift exactly, with 2^30 <= mantissa < 2^31 (0 for
 * m = 0): its 24 significant bits always fit. */
QN_FN void qn_q31_from_f32(float m, int32_t* mantissa, int32_t* shift) {
  uint32_t bits = qn_bits_f32(m) & 0x7fffffffu;
  int32_t exponent = (int32_t)(bits >> 23);
  uint32_t significand = bits & 0x7fffffu;
  *mantissa = 0;
  *shift = 0;
  if (bits == 0) return;
  if (exponent == 0) {
    exponent = 1;
    while (significand < 0x800000u) {
      significand <<= 1;
      --exponent;
    }
  } else {
    significand |= 0x800000u;
  }
  *mantissa = (int32_t)(significand << 7);
  *shift = 157 - exponent; /* m = significand * 2^(exponent - 150) */
}

/* sum * mantissa * 2^-shift, rounded half to even, plus the zero point, limited to codes lo..hi.
 * The product of 95 bits is exact; a shift below 0 makes every sum but 0 larger than any code. */
QN_FN int32_t qn_rescale_q31(int64_t sum, int32_t mantissa, int32_t shift, int32_t zero, int32_t lo,
                             int32_t hi) {
  const uint64_t magnitude = sum < 0 ? (uint64_t)0 - (uint64_t)sum : (uint64_t)sum;
  const uint64_t below = (magnitude & 0xffffffffu) * (uint64_t)(uint32_t)mantissa;
  /* magnitude <= 2^63 and mantissa < 2^31, so this is below 2^62 + 2^31. */
  const uint64_t above = (magnitude >> 32) * (uint64_t)(uint32_t)mantissa + (below >> 32);
  const uint64_t least = below & 0xffffffffu;
  const uint64_t most = UINT64_C(0x100000); /* beyond any code's distance from a zero point */
  uint64_t whole, half, rest;
  int64_t code;
  if (magnitude == 0 || mantissa == 0 || shift > 95) {
    whole = half = rest = 0;
  } else if (shift < 0) {
    whole = most;
    half = rest = 0;
  } else if (shift >= 33) {
    const int32_t s = shift - 32; /* 1..63: bit s - 1 of `above` is the half */
    whole = above >> s;
    half = above >> (s - 1) & 1u;
    rest = (above & ((UINT64_C(1) << (s - 1)) - 1u)) | least;
  } else if (shift > 0) {
    /* The 64 low bits of the shifted product are enough where nothing lies above them. */
    whole = above >> 31 ? most : (above << 32 | least) >> shift;
    half = least >> (shift - 1) & 1u;
    rest = least & ((UINT64_C(1) << (shift - 1)) - 1u);
  } else {
    whole = above ? most : least;
    half = rest = 0;
  }
  if (half && (rest || (whole & 1u))) ++whole;
  if (whole > most) whole = most;
  code = (sum < 0 ? -(int64_t)whole : (int64_t)whole) + zero;
  return code < lo ? lo : code > hi ? hi : (int32_t)code;
}

/* The exact sum * mantissa * 2^-shift / n of a mean, rounded once; a mean of nothing is lo. */
QN_FN int32_t qn_mean_q31(int64_t sum, int32_t n, int32_t mantissa, int32_t shift, int32_t zero,
                          int32_t lo, int32_t hi) {
  const uint64_t magnitude = sum < 0 ? (uint64_t)0 - (uint64_t)sum : (uint64_t)sum;
  const uint64_t below = (magnitude & 0xffffffffu) * (uint64_t)(uint32_t)mantissa;
  const uint64_t above = (magnitude >> 32) * (uint64_t)(uint32_t)mantissa + (below >> 32);
  const uint64_t most = UINT64_C(0x100000);
  uint64_t part[5] = {below & 0xffffffffu, above & 0xffffffffu, above >> 32, 0, 0}; /* of 32 bits */
  uint64_t rest = 0, half = 0, whole = 0;
  int64_t code;
  int32_t i, word, bit;
  if (n <= 0) return lo;
  if (magnitude == 0 || mantissa == 0 || shift > 96) return zero < lo ? lo : zero > hi ? hi : zero;
  if (shift < 0) { /* a factor beyond 2^31; one beyond 2^62 leaves no code within the limits */
    const int32_t left = shift < -32 ? 32 : -shift;
    for (i = 3; i >= 0; --i) {
      part[i] <<= left;
      part[i + 1] |= part[i] >> 32;
      part[i] &= 0xffffffffu;
    }
    shift = 0;
  }
  for (i = 4; i >= 0; --i) {
    const uint64_t current = rest << 32 | part[i];
    part[i] = current / (uint32_t)n;
    rest = current % (uint32_t)n;
  }
  word = shift / 32;
  bit = shift % 32;
  if (shift == 0) {
    half = 2 * rest >= (uint32_t)n;
    rest = 2 * rest != (uint32_t)n;
  } else {
    half = part[(shift - 1) / 32] >> (shift - 1) % 32 & 1u;
    rest |= part[(shift - 1) / 32] & ((UINT64_C(1) << (shift - 1) % 32) - 1u);
    for (i = 0; i < (shift - 1) / 32; ++i) rest |= part[i];
  }
  whole = (word + 1 < 5 ? part[word + 1] << 32 : 0) | part[word];
  whole >>= bit;
  for (i = word + 2; i < 5; ++i) whole = part[i] ? most : whole;
  if (half && (rest || (whole & 1u))) ++whole;
  if (whole > most) whole = most;
  code = (sum < 0 ? -(int64_t)whole : (int64_t)whole) + zero;
  return code < lo ? lo : code > hi ? hi : (int32_t)code;
}

/* Two ratios as multiples of 2^-shift, the larger of 31 bits: exact where they differ by at most
 * 2^7, else the smaller is rounded half to even. */
QN_FN void qn_q31_pair(float ra, float rb, int32_t* ma, int32_t* mb, int32_t* shift) {
  int32_t sa, sb, *small = ma, distance;
  qn_q31_from_f32(ra, ma, &sa);
  qn_q31_from_f32(rb, mb, &sb);
  if (*ma == 0) sa = sb;
  if (*mb == 0) sb = sa;
  distance = sa - sb;
  *shift = sb;
  if (distance < 0) {
    distance = -distance;
    *shift = sa;
    small = mb;
  }
  if (distance > 32) {
    *small = 0;
  } else if (distance > 0) {
    const uint64_t m = (uint64_t)(uint32_t)*small;
    const uint64_t half = UINT64_C(1) << (distance - 1), rest = m & (2 * half - 1u);
    uint64_t whole = m >> distance;
    if (rest > half || (rest == half && (whole & 1u))) ++whole;
    *small = (int32_t)whole;
  }
  if (ra < 0.0f) *ma = -*ma;
  if (rb < 0.0f) *mb = -*mb;
}

/* A sum of two codes, the ratios of their scales to the result's as qn_q31_pair has them. */
QN_FN int32_t qn_add_codes_q31(int32_t a, int32_t b, int32_t za, int32_t zb, int32_t ma, int32_t mb,
                               int32_t shift, int32_t zero, int32_t lo, int32_t hi) {
  const int64_t sum = (int64_t)(a - za) * ma + (int64_t)(b - zb) * mb;
  return qn_rescale_q31(sum, (int32_t)1 << 30, shift + 30, zero, lo, hi);
}

#endif /* QN_QUANT_Q31_H */
