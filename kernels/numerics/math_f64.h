/* Exponential, logarithmic and hyperbolic functions in double, with a fixed order of
 * operations. Errors are in docs/arithmetic.md; coefficients come from fit.py.
 */
#ifndef QN_MATH_F64_H
#define QN_MATH_F64_H

#include "base.h"

/* 2^n for -1022 <= n <= 1023. */
QN_FN double qn_pow2i_f64(int64_t n) { return qn_from_bits_f64(((uint64_t)n + 1023u) << 52); }

/* a + b = sum + *error, exactly. */
QN_FN double qn_two_sum(double a, double b, double* error) {
  const double sum = a + b;
  const double part = sum - a;
  *error = (a - (sum - part)) + (b - part);
  return sum;
}
/* a * b = product + *error, exactly. */
QN_FN double qn_two_product(double a, double b, double* error) {
  const double product = qn_mul(a, b);
  *error = qn_fma(a, b, -product);
  return product;
}

/* Splits x + low into n ln2 + r with |r| <= ln2 / 2 and returns exp(r) - 1. |x| < 2^20. */
QN_FN double qn_exp_parts_f64(double x, double low, int64_t* n) {
  const double magic = 0x1.8p52; /* adding it rounds to an integer, left in the low bits */
  const double t = qn_fma(x, 0x1.71547652b82fep+0, magic);
  const double k = t - magic;
  const double r0 = qn_fma(k, -0x1.62e42fefa3800p-1, x);
  const double r = r0 + qn_fma(k, -0x1.ef35793c76730p-45, low);
  double q = 0x1.1f72fca335d18p-29;
  q = qn_fma(q, r, 0x1.af4dddd8d7f8cp-26);
  q = qn_fma(q, r, 0x1.27e4db679d0c0p-22);
  q = qn_fma(q, r, 0x1.71de02372dd4ep-19);
  q = qn_fma(q, r, 0x1.a01a01a6d787dp-16);
  q = qn_fma(q, r, 0x1.a01a01abe63a9p-13);
  q = qn_fma(q, r, 0x1.6c16c16c162d6p-10);
  q = qn_fma(q, r, 0x1.11111111100dfp-7);
  q = qn_fma(q, r, 0x1.5555555555556p-5);
  q = qn_fma(q, r, 0x1.5555555555557p-3);
  q = qn_fma(q, r, 0x1.0000000000000p-1);
  *n = (int64_t)(qn_bits_f64(t) - qn_bits_f64(magic));
  return qn_fma(q * r, r, r);
}

/* e^(x + low) for a low that is small against x. */
QN_FN double qn_exp_sum_f64(double x, double low) {
  int64_t n;
  const double p = 1.0 + qn_exp_parts_f64(qn_clamp_f64(x, -746.0, 710.0), low, &n);
  return qn_fma(p * qn_pow2i_f64(n >> 1), qn_pow2i_f64(n - (n >> 1)), 0.0);
}

QN_FN double qn_exp_f64(double x) { return qn_exp_sum_f64(x, 0.0); }

QN_FN double qn_exp2_f64(double x) {
  const double magic = 0x1.8p52;
  const double c = qn_clamp_f64(x, -1076.0, 1025.0);
  const double t = c + magic;
  const double r = c - (t - magic);
  const int64_t n = (int64_t)(qn_bits_f64(t) - qn_bits_f64(magic));
  double q = 0x1.8219217906555p-40;
  q = qn_fma(q, r, 0x1.c4b5b04b1e8f9p-36);
  q = qn_fma(q, r, 0x1.e8ca8dd465e8bp-32);
  q = qn_fma(q, r, 0x1.e4cf03bac04a7p-28);
  q = qn_fma(q, r, 0x1.b5253d41fa178p-24);
  q = qn_fma(q, r, 0x1.62c022460176ep-20);
  q = qn_fma(q, r, 0x1.ffcbfc5889cb0p-17);
  q = qn_fma(q, r, 0x1.430912f86ac5bp-13);
  q = qn_fma(q, r, 0x1.5d87fe78a6732p-10);
  q = qn_fma(q, r, 0x1.3b2ab6fba4e7bp-7);
  q = qn_fma(q, r, 0x1.c6b08d704a0c0p-5);
  q = qn_fma(q, r, 0x1.ebfbdff82c58fp-3);
  q = qn_fma(q, r, 0x1.62e42fefa39efp-1);
  q = qn_fma(q, r, 1.0);
  return qn_fma(q * qn_pow2i_f64(n >> 1), qn_pow2i_f64(n - (n >> 1)), 0.0);
}

QN_FN double qn_expm1_f64(double x) {
  int64_t n;
  const double p = qn_exp_parts_f64(qn_clamp_f64(x, -38.0, 710.0), 0.0, &n);
  const double h = qn_pow2i_f64(n - 1);
  const double y = qn_fma(qn_fma(h, p, h - 0.5), 2.0, 0.0);
  return qn_select_f64(qn_abs_f64(x) < 0x1p-54, x, qn_select_f64(n == 0, p, y));
}

/* log(x) as a sum of two doubles for 0 < x < inf; the error is below 2^-64 of it. */
QN_FN double qn_log_parts_f64(double x, double* low) {
  const int tiny = x < 0x1p-1022;
  const uint64_t u = qn_bits_f64(qn_select_f64(tiny, x * 0x1p54, x));
  const int64_t shifted = (int64_t)(u - UINT64_C(0x3fe6a09e667f3bcd)) >> 52;
  const double m = qn_from_bits_f64(u - ((uint64_t)shifted << 52));
  const double e = (double)(shifted - (tiny ? 54 : 0));
  /* s = f / (2 + f), log(1 + f) = 2 s (1 + z (1/3 + z g)) with z = s^2, all but g in two parts. */
  const double f = m - 1.0;
  const double d = 2.0 + f;
  const double s = f / d;
  const double s_low = qn_fma(-s, f - (d - 2.0), qn_fma(-s, d, f)) / d;
  const double s2 = s + s;
  double z_low, c_low, t_low, sum_low, top_low;
  const double z = qn_two_product(s, s, &z_low);
  const double third = qn_two_product(z, 0x1.5555555555555p-2, &c_low);
  double c, t, sum, top, rest;
  double q = 0x1.e02d197c00c78p-5;
  q = qn_fma(q, z, 0x1.df7ce9a6bcccbp-5);
  q = qn_fma(q, z, 0x1.1118c74823a2ep-4);
  q = qn_fma(q, z, 0x1.3b1395d4f9e5fp-4);
  q = qn_fma(q, z, 0x1.745d177a8f200p-4);
  q = qn_fma(q, z, 0x1.c71c71c6eaa8dp-4);
  q = qn_fma(q, z, 0x1.2492492492521p-3);
  q = qn_fma(q, z, 0x1.999999999999ap-3);
  z_low = qn_fma(s2, s_low, z_low);
  c_low = qn_fma(z, 0x1.5555555555555p-56, qn_fma(z_low, 0x1.5555555555555p-2, c_low));
  c_low = qn_fma(z * z, q, c_low);
  c = qn_two_sum(third, c_low, &c_low);
  t = qn_two_product(s2, c, &t_low);
  t_low = qn_fma(s2, c_low, qn_fma(s_low + s_low, c, t_low));
  sum = qn_two_sum(s2, t, &sum_low);
  rest = sum_low + (t_low + (s_low + s_low));
  top = qn_mul(e, 0x1.62e42fefa3800p-1); /* exact */
  top = qn_two_sum(top, sum, &top_low);
  rest = top_low + qn_fma(e, 0x1.ef35793c76730p-45, rest);
  return qn_two_sum(top, rest, low);
}

/* What a logarithm answers where it has no finite value: x is 0, negative, infinite or NaN. */
QN_FN double qn_log_edge_f64(double x) {
  return qn_select_f64(x == 0.0, -QN_INF_F64, qn_select_f64(x < 0.0, QN_NAN_F64, x));
}

QN_FN double qn_log_f64(double x) {
  double low;
  const double y = qn_log_parts_f64(x, &low);
  return qn_select_f64((x > 0.0) & (x < QN_INF_F64), y, qn_log_edge_f64(x));
}

/* log(x) / log(base), with 1 / log(base) in two parts. */
QN_FN double qn_log_base_f64(double x, double scale, double scale_low) {
  double low, product_low;
  const double high = qn_log_parts_f64(x, &low);
  const double product = qn_two_product(high, scale, &product_low);
  const double y = product + qn_fma(high, scale_low, qn_fma(low, scale, product_low));
  return qn_select_f64((x > 0.0) & (x < QN_INF_F64), y, qn_log_edge_f64(x));
}
QN_FN double qn_log2_f64(double x) {
  return qn_log_base_f64(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
}
QN_FN double qn_log10_f64(double x) {
  return qn_log_base_f64(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
}

QN_FN double qn_log1p_f64(double x) {
  double low, lost;
  const double u = qn_two_sum(1.0, x, &lost);
  const double high = qn_log_parts_f64(u, &low);
  const double y = high + (low + lost / u);
  const int inside = (x > -1.0) & (x < QN_INF_F64) & (qn_abs_f64(x) >= 0x1p-54);
  const double edge = qn_select_f64(qn_abs_f64(x) < 0x1p-54, x, qn_log_edge_f64(1.0 + x));
  return qn_select_f64(inside, y, edge);
}

/* 0: y is no integer, 1: odd, 2: even. */
QN_FN int qn_integer_kind_f64(double y) {
  const double a = qn_abs_f64(y);
  if (a >= 0x1p53) return 2;
  if (floor(a) != a) return 0;
  return ((uint64_t)a & 1u) ? 1 : 2;
}

/* x^y with the special cases of C's pow. */
QN_FN double qn_pow_f64(double x, double y) {
  const double a = qn_abs_f64(x);
  const int kind = qn_integer_kind_f64(y);
  double low, product, product_low, r;
  if (y == 0.0 || x == 1.0) return 1.0;
  if (qn_isnan_f64(x) || qn_isnan_f64(y)) return x + y;
  if (qn_isinf_f64(y)) {
    if (a == 1.0) return 1.0;
    return (a > 1.0) == (y > 0.0) ? QN_INF_F64 : 0.0;
  }
  if (x < 0.0 && kind == 0 && !qn_isinf_f64(x)) return QN_NAN_F64;
  if (a == 0.0 || qn_isinf_f64(a)) {
    r = (a == 0.0) == (y > 0.0) ? 0.0 : QN_INF_F64;
  } else {
    r = qn_log_parts_f64(a, &low);
    product = qn_two_product(r, y, &product_low);
    product_low = qn_fma(low, y, product_low);
    r = qn_exp_sum_f64(product, qn_abs_f64(product) < 800.0 ? product_low : 0.0);
  }
  return (kind == 1 && (qn_bits_f64(x) >> 63)) ? -r : r;
}

QN_FN double qn_tanh_f64(double x) {
  int64_t n;
  const double b = qn_abs_f64(x);
  const double a = b > 22.0 ? 22.0 : b;
  const double p = qn_exp_parts_f64(a + a, 0.0, &n);
  const double s = qn_pow2i_f64(n);
  const double t = qn_fma(s, p, s - 1.0);
  const double y = t / (t + 2.0);
  return qn_copysign_f64(qn_select_f64(b < 0x1p-28, b, y), x);
}
QN_FN double qn_sinh_f64(double x) {
  const double a = qn_abs_f64(x);
  const double t = qn_expm1_f64(a);
  const double half = qn_exp_f64(0.5 * a); /* where e^a overflows and sinh may not */
  const double large = qn_mul(0.5 * half, half);
  const double y = a > 40.0 ? large : 0.5 * (t + t / (t + 1.0));
  return qn_copysign_f64(y, x);
}
QN_FN double qn_cosh_f64(double x) {
  const double a = qn_abs_f64(x);
  const double e = qn_exp_f64(a);
  const double half = qn_exp_f64(0.5 * a);
  return a > 40.0 ? qn_mul(0.5 * half, half) : qn_fma(0.5, e, 0.5 / e);
}
QN_FN double qn_asinh_f64(double x) {
  const double a = qn_abs_f64(x);
  const double over = (a * a) / (1.0 + sqrt(qn_fma(a, a, 1.0)));
  const double r = a > 0x1p28 ? qn_log_f64(a) + 0x1.62e42fefa39efp-1 : qn_log1p_f64(a + over);
  return qn_copysign_f64(a < 0x1p-28 || qn_isnan_f64(x) ? a : r, x);
}
QN_FN double qn_acosh_f64(double x) {
  const double t = x - 1.0;
  if (x > 0x1p28) return qn_log_f64(x) + 0x1.62e42fefa39efp-1;
  if (!(x >= 1.0)) return QN_NAN_F64;
  return qn_log1p_f64(t + sqrt(qn_fma(t, t, t + t)));
}
QN_FN double qn_atanh_f64(double x) {
  const double a = qn_abs_f64(x);
  const double y = 0.5 * qn_log1p_f64((a + a) / (1.0 - a));
  return qn_copysign_f64(a < 0x1p-28 ? a : y, x);
}

QN_FN double qn_sigmoid_f64(double x) {
  const double e = qn_exp_f64(-qn_abs_f64(x));
  return qn_select_f64(x < 0.0, e, 1.0) / (1.0 + e);
}
QN_FN double qn_silu_f64(double x) {
  const double e = qn_exp_f64(-qn_abs_f64(x));
  return (x * qn_select_f64(x < 0.0, e, 1.0)) / (1.0 + e);
}
QN_FN double qn_softplus_f64(double x) {
  const double tail = qn_log1p_f64(qn_exp_f64(-qn_abs_f64(x)));
  return (x < 0.0 ? 0.0 : x) + tail;
}
QN_FN double qn_log_sigmoid_f64(double x) { return -qn_softplus_f64(-x); }
QN_FN double qn_mish_f64(double x) { return qn_mul(x, qn_tanh_f64(qn_softplus_f64(x))); }

QN_FN double qn_gelu_tanh_f64(double x) {
  const double h = 0.5 * x;
  const double u = x * qn_fma(x * x, 0x1.2444f2a4d8b4bp-5, 0x1.9884533d43651p-1);
  return qn_fma(h, qn_tanh_f64(u), h);
}
QN_FN double qn_gelu_quick_f64(double x) {
  const double v = x * 1.702;
  const double e = qn_exp_f64(-qn_abs_f64(v));
  return (x * qn_select_f64(v < 0.0, e, 1.0)) / (1.0 + e);
}

QN_FN double qn_sqrt_f64(double x) { return sqrt(x); }
QN_FN double qn_rsqrt_f64(double x) { return 1.0 / sqrt(x); }
QN_FN double qn_reciprocal_f64(double x) { return 1.0 / x; }
QN_FN double qn_softsign_f64(double x) { return x / (1.0 + qn_abs_f64(x)); }
QN_FN double qn_hardswish_f64(double x) { return (x * qn_clamp_f64(x + 3.0, 0.0, 6.0)) / 6.0; }

#endif /* QN_MATH_F64_H */
