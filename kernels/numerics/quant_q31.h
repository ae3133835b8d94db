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

#endif /* QN_QUANT_Q31_H */
