/* The logarithm of the gamma function and its derivative, in double: Stirling's series above 10,
 * recurrence below, reflection for negative arguments.
 */
#ifndef QN_GAMMA_F64_H
#define QN_GAMMA_F64_H

#include "base.h"
#include "math_f64.h"
#include "trig_f64.h"

/* sin(pi x) or, a quarter turn on, cos(pi x): exact zeros at the integers. */
QN_FN double qn_sin_pi_f64(double x, int quarter) {
  double n, r, y;
  int quadrant;
  if (qn_isnan_f64(x) || qn_isinf_f64(x)) return x - x;
  if (qn_abs_f64(x) >= 0x1p53) return quarter ? 1.0 : 0.0; /* an even integer */
  n = rint(x + x);
  r = qn_mul(qn_fma(-0.5, n, x), 0x1.921fb54442d18p+1);
  quadrant = ((int)fmod(n, 4.0) + quarter) & 3;
  y = (quadrant & 1) ? qn_cos_kernel(r, 0.0) : qn_sin_kernel(r, 0.0);
  return (quadrant & 2) ? -y : y;
}

/* log|gamma(x)|; infinite at 0 and the negative integers. */
QN_FN double qn_lgamma_f64(double x) {
  /* x < 1/2 is mirrored: gamma(x) gamma(1 - x) = pi / sin(pi x). */
  const int mirrored = x < 0.5;
  double y = mirrored ? 1.0 - x : x;
  double shift = 1.0, z, q = 0x1.a41a41a41a41ap-8, r;
  if (qn_isnan_f64(x)) return x;
  if (qn_isinf_f64(x) || (x <= 0.0 && floor(x) == x)) return QN_INF_F64;
  for (; y < 10.0; y += 1.0) shift = qn_mul(shift, y);
  z = 1.0 / (y * y);
  q = qn_fma(q, z, -0x1.f6ab0d9993c7dp-10);
  q = qn_fma(q, z, 0x1.b951e2b18ff23p-11);
  q = qn_fma(q, z, -0x1.3813813813814p-11);
  q = qn_fma(q, z, 0x1.a01a01a01a01ap-11);
  q = qn_fma(q, z, -0x1.6c16c16c16c17p-9);
  q = qn_fma(q, z, 0x1.5555555555555p-4);
  r = qn_fma(y - 0.5, qn_log_f64(y) - 1.0, 0x1.d67f1c864beb5p-1 - 0.5) + q / y;
  r -= qn_log_f64(shift);
  if (!mirrored) return r;
  return qn_log_f64(0x1.921fb54442d18p+1 / qn_abs_f64(qn_sin_pi_f64(x, 0))) - r;
}

/* The derivative of log gamma: -inf at +0, NaN at the negative integers. */
QN_FN double qn_digamma_f64(double x) {
  const int mirrored = x < 0.0;
  double y = mirrored ? 1.0 - x : x;
  double shift = 0.0, z, q = 0x1.5555555555555p-4, r;
  if (x == 0.0) return qn_copysign_f64(QN_INF_F64, -x);
  if (x < 0.0 && (floor(x) == x)) return QN_NAN_F64;
  if (qn_isnan_f64(x) || qn_isinf_f64(x)) return x;
  for (; y < 10.0; y += 1.0) shift += 1.0 / y;
  z = 1.0 / (y * y);
  q = qn_fma(q, z, -0x1.5995995995996p-6);
  q = qn_fma(q, z, 0x1.f07c1f07c1f08p-8);
  q = qn_fma(q, z, -0x1.1111111111111p-8);
  q = qn_fma(q, z, 0x1.0410410410410p-8);
  q = qn_fma(q, z, -0x1.1111111111111p-7);
  q = qn_fma(q, z, 0x1.5555555555555p-4);
  r = qn_fma(-q, z, qn_log_f64(y) - 0.5 / y) - shift;
  if (!mirrored) return r;
  return r - 0x1.921fb54442d18p+1 / (qn_sin_pi_f64(x, 0) / qn_sin_pi_f64(x, 1));
}

#endif /* QN_GAMMA_F64_H */
