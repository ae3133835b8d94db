/* Trigonometric functions in double, with a fixed order of operations. Errors are in
 * docs/arithmetic.md; coefficients and the digits of 2 / pi come from fit.py.
 */
#ifndef QN_TRIG_F64_H
#define QN_TRIG_F64_H

#include "base.h"
#include "math_f64.h"

/* The 128-bit product of a and b; the low half is a * b. */
QN_FN uint64_t qn_mul_high_u64(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t mid = a1 * b0 + ((a0 * b0) >> 32);
  const uint64_t mid2 = a0 * b1 + (mid & 0xffffffffu);
  return a1 * b1 + (mid >> 32) + (mid2 >> 32);
}

/* x - n pi/2 for huge finite |x|, as a sum of two doubles, by an exact product of the mantissa with
 * the bits of 2 / pi that matter (Payne and Hanek). */
QN_FN double qn_reduce_huge(double x, double* low, int* quadrant) {
  static const uint64_t two_over_pi[20] = {
      UINT64_C(0xa2f9836e4e441529), UINT64_C(0xfc2757d1f534ddc0), UINT64_C(0xdb6295993c439041),
      UINT64_C(0xfe5163abdebbc561), UINT64_C(0xb7246e3a424dd2e0), UINT64_C(0x06492eea09d1921c),
      UINT64_C(0xfe1deb1cb129a73e), UINT64_C(0xe88235f52ebb4484), UINT64_C(0xe99c7026b45f7e41),
      UINT64_C(0x3991d639835339f4), UINT64_C(0x9c845f8bbdf9283b), UINT64_C(0x1ff897ffde05980f),
      UINT64_C(0xef2f118b5a0a6d1f), UINT64_C(0x6d367ecf27cb09b7), UINT64_C(0x4f463f669e5fea2d),
      UINT64_C(0x7527bac7ebe5f17b), UINT64_C(0x3d0739f78a5292ea), UINT64_C(0x6bfb5fb11f8d5d08),
      UINT64_C(0x56033046fc7b6bab), UINT64_C(0xf0cfbc209af4361d),
  };
  const uint64_t u = qn_bits_f64(x);
  const uint64_t m = (u & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
  const int start = (int)((u >> 52) & 0x7ffu) - 1075 - 2; /* bits before it make whole turns */
  uint64_t w[3], phase[3], carry;
  double scale, high, part, r, r_low;
  int k, shift = 0, negative;
  for (k = 0; k < 3; ++k) {
    const int bit = start + 64 * k;
    const int word = bit >= 0 ? bit / 64 : -1;
    const int offset = bit >= 0 ? bit % 64 : bit + 64;
    const uint64_t first = word >= 0 ? two_over_pi[word] : 0;
    const uint64_t next = two_over_pi[word + 1];
    w[k] = offset == 0 ? first : (first << offset) | (next >> (64 - offset));
  }
  /* m * 0.w as a fraction of a turn: the product modulo 2^192, top word first. */
  phase[2] = m * w[2];
  phase[1] = m * w[1] + qn_mul_high_u64(m, w[2]);
  carry = phase[1] < m * w[1];
  phase[0] = m * w[0] + qn_mul_high_u64(m, w[1]) + carry;
  *quadrant = (int)((phase[0] + (UINT64_C(1) << 61)) >> 62) & 3;
  phase[0] <<= 2; /* what is left of a quadrant, as a signed fraction of one */
  phase[0] |= phase[1] >> 62;
  phase[1] = (phase[1] << 2) | (phase[2] >> 62);
  phase[2] <<= 2;
  negative = (int)(phase[0] >> 63);
  if (negative) {
    phase[2] = ~phase[2] + 1u;
    phase[1] = ~phase[1] + (phase[2] == 0);
    phase[0] = ~phase[0] + (phase[2] == 0 && phase[1] == 0);
  }
  while (shift < 128 && !(phase[0] >> 63)) {
    phase[0] = (phase[0] << 1) | (phase[1] >> 63);
    phase[1] = (phase[1] << 1) | (phase[2] >> 63);
    phase[2] <<= 1;
    ++shift;
  }
  scale = qn_pow2i_f64(-53 - shift);
  high = (double)(phase[0] >> 11) * scale;
  part = (double)(((phase[0] & 0x7ffu) << 42) | (phase[1] >> 22)) * scale * 0x1p-53;
  r = qn_two_product(high, 0x1.921fb54442d18p+0, &r_low);
  r_low = qn_fma(high, 0x1.1a62633145c07p-54, qn_fma(part, 0x1.921fb54442d18p+0, r_low));
  if (negative != (int)(u >> 63)) {
    r = -r;
    r_low = -r_low;
  }
  if (u >> 63) *quadrant = (4 - *quadrant) & 3;
  *low = r_low;
  return r;
}

/* x - n pi/2 in [-pi/4, pi/4] as a sum of two doubles, and n mod 4. x is finite. */
QN_FN double qn_reduce_half_pi(double x, double* low, int* quadrant) {
  const double magic = 0x1.8p52;
  double t, n, r1, w_low, error, r;
  if (qn_abs_f64(x) > 0x1p20) return qn_reduce_huge(x, low, quadrant);
  t = qn_fma(x, 0x1.45f306dc9c883p-1, magic);
  n = t - magic;
  *quadrant = (int)(qn_bits_f64(t) & 3u);
  r1 = qn_fma(n, -0x1.921fb54442d18p+0, x); /* exact */
  r = qn_two_sum(r1, -qn_two_product(n, 0x1.1a62633145c07p-54, &w_low), &error);
  *low = qn_fma(n, 0x1.f1976b7ed8fbcp-110, error - w_low);
  return r;
}

/* sin and cos of r + low for |r| <= pi/4. */
QN_FN double qn_sin_kernel(double r, double low) {
  const double z = r * r;
  double q = -0x1.ab17d37ab5989p-41;
  q = qn_fma(q, z, 0x1.61217f0a95ad6p-33);
  q = qn_fma(q, z, -0x1.ae645412c4390p-26);
  q = qn_fma(q, z, 0x1.71de3a5460950p-19);
  q = qn_fma(q, z, -0x1.a01a01a019938p-13);
  q = qn_fma(q, z, 0x1.1111111111110p-7);
  q = qn_fma(q, z, -0x1.5555555555555p-3);
  return r + qn_fma(z * r, q, qn_fma(-0.5 * z, low, low));
}
QN_FN double qn_cos_kernel(double r, double low) {
  const double z = r * r;
  const double w = qn_fma(-0.5, z, 1.0);
  double q = 0x1.ab785a85cd5f2p-45;
  q = qn_fma(q, z, -0x1.9394ba0c066f6p-37);
  q = qn_fma(q, z, 0x1.1eed8deb9725fp-29);
  q = qn_fma(q, z, -0x1.27e4fb7712d60p-22);
  q = qn_fma(q, z, 0x1.a01a01a019d0ap-16);
  q = qn_fma(q, z, -0x1.6c16c16c16c16p-10);
  q = qn_fma(q, z, 0x1.5555555555555p-5);
  return w + qn_fma(z * z, q, qn_fma(-r, low, qn_fma(-0.5, z, 1.0 - w)));
}

/* sin(x + quadrants * pi/2). Sine and cosine share it, so that a program with both has one copy. */
QN_FN double qn_sin_plus_quadrants(double x, int quadrants) {
  double low, r, y;
  int quadrant;
  if (!(qn_abs_f64(x) < QN_INF_F64)) return QN_NAN_F64;
  r = qn_reduce_half_pi(x, &low, &quadrant);
  quadrant += quadrants;
  y = (quadrant & 1) ? qn_cos_kernel(r, low) : qn_sin_kernel(r, low);
  return (quadrant & 2) ? -y : y;
}
QN_FN double qn_sin_f64(double x) {
  return qn_abs_f64(x) < 0x1p-27 ? x : qn_sin_plus_quadrants(x, 0);
}
QN_FN double qn_cos_f64(double x) { return qn_sin_plus_quadrants(x, 1); }
QN_FN double qn_tan_f64(double x) {
  double low, r, s, c;
  int quadrant;
  if (qn_abs_f64(x) < 0x1p-27) return x;
  if (!(qn_abs_f64(x) < QN_INF_F64)) return QN_NAN_F64;
  r = qn_reduce_half_pi(x, &low, &quadrant);
  s = qn_sin_kernel(r, low);
  c = qn_cos_kernel(r, low);
  return (quadrant & 1) ? -(c / s) : s / c;
}

/* The angle of the point (x, y), 0 <= y, x >= 0, as a sum of two doubles. */
QN_FN double qn_angle_f64(double y, double x, double* low) {
  /* Rotated by -pi/4 or by none, and mirrored at the diagonal, the slope is below tan(pi/8). */
  const int steep = y > x;
  const double a = steep ? x : y, b = steep ? y : x;
  const int rotated = a > 0x1.a827999fcef32p-2 * b;
  double n_low = 0.0, d_low = 0.0, base_low = 0.0;
  const double num = rotated ? qn_two_sum(a, -b, &n_low) : a;
  const double den = rotated ? qn_two_sum(a, b, &d_low) : b;
  const double v = num / den;
  const double v_low = (qn_fma(-v, den, num) + qn_fma(-v, d_low, n_low)) / den;
  const double z = v * v;
  double base = 0.0, tail, sum, sum_low;
  double q = -0x1.c81291cfc455fp-7;
  q = qn_fma(q, z, 0x1.f5ef74d05428dp-6);
  q = qn_fma(q, z, -0x1.503c4469943acp-5);
  q = qn_fma(q, z, 0x1.829ce3237ab26p-5);
  q = qn_fma(q, z, -0x1.aebd1fa559894p-5);
  q = qn_fma(q, z, 0x1.e1d8e9bffe59dp-5);
  q = qn_fma(q, z, -0x1.1110cee80b516p-4);
  q = qn_fma(q, z, 0x1.3b13aea9e84b6p-4);
  q = qn_fma(q, z, -0x1.745d173565149p-4);
  q = qn_fma(q, z, 0x1.c71c71c6ddbfcp-4);
  q = qn_fma(q, z, -0x1.24924924920adp-3);
  q = qn_fma(q, z, 0x1.9999999999997p-3);
  q = qn_fma(q, z, -0x1.5555555555555p-2);
  tail = qn_fma(z * v, q, v_low);
  if (rotated) {
    base = 0x1.921fb54442d18p-1;
    base_low = 0x1.1a62633145c07p-55;
  }
  sum = qn_two_sum(base, v, &sum_low);
  tail += sum_low + base_low;
  if (steep) {
    sum = qn_two_sum(0x1.921fb54442d18p+0, -sum, &sum_low);
    tail = sum_low + (0x1.1a62633145c07p-54 - tail);
  }
  return qn_two_sum(sum, tail, low);
}

/* The angle of the point (x, y) in [-pi, pi] with the special cases of C's atan2. */
QN_FN double qn_atan2_f64(double y, double x) {
  double ay = qn_abs_f64(y), ax = qn_abs_f64(x), low, r;
  const int left = (int)(qn_bits_f64(x) >> 63);
  if (qn_isnan_f64(x) || qn_isnan_f64(y)) return x + y;
  if (qn_isinf_f64(x) && qn_isinf_f64(y)) {
    ax = 1.0;
    ay = 1.0;
  } else if (qn_isinf_f64(x) || ay == 0.0) {
    return left ? qn_copysign_f64(0x1.921fb54442d18p+1, y) : qn_copysign_f64(0.0, y);
  } else if (qn_isinf_f64(y) || ax == 0.0) {
    return qn_copysign_f64(0x1.921fb54442d18p+0, y);
  }
  if (ay > ax * 0x1p60) return qn_copysign_f64(0x1.921fb54442d18p+0, y);
  if (ax > ay * 0x1p60) {
    return qn_copysign_f64(left ? 0x1.921fb54442d18p+1 : ay / ax, y);
  }
  if (ax > 0x1p1000 || ay > 0x1p1000) {
    ax *= 0x1p-100;
    ay *= 0x1p-100;
  } else if (ax < 0x1p-900 || ay < 0x1p-900) {
    ax *= 0x1p200;
    ay *= 0x1p200;
  }
  r = qn_angle_f64(ay, ax, &low);
  if (left) r = 0x1.921fb54442d18p+1 - (r - (0x1.1a62633145c07p-53 - low));
  return qn_copysign_f64(r, y);
}
QN_FN double qn_atan_f64(double x) { return qn_abs_f64(x) < 0x1p-27 ? x : qn_atan2_f64(x, 1.0); }
QN_FN double qn_asin_f64(double x) {
  if (!(qn_abs_f64(x) <= 1.0)) return QN_NAN_F64;
  return qn_abs_f64(x) < 0x1p-27 ? x : qn_atan2_f64(x, sqrt((1.0 - x) * (1.0 + x)));
}
QN_FN double qn_acos_f64(double x) {
  if (!(qn_abs_f64(x) <= 1.0)) return QN_NAN_F64;
  return qn_atan2_f64(sqrt((1.0 - x) * (1.0 + x)), x);
}
/* sqrt(x^2 + y^2) without overflow; infinite when either is. */
QN_FN double qn_hypot_f64(double x, double y) {
  const double ax = qn_abs_f64(x), ay = qn_abs_f64(y);
  const double scale = (ax > 0x1p500 || ay > 0x1p500)     ? 0x1p-600
                       : (ax < 0x1p-400 && ay < 0x1p-400) ? 0x1p600
                                                          : 1.0;
  const double sx = ax * scale, sy = ay * scale;
  const double big = sx > sy ? sx : sy, small = sx > sy ? sy : sx;
  if (qn_isinf_f64(x) || qn_isinf_f64(y)) return QN_INF_F64;
  return qn_mul(sqrt(qn_fma(big, big, small * small)), 1.0 / scale);
}

#endif /* QN_TRIG_F64_H */
