/* The error function, its complement and inverse in double. Errors are in docs/arithmetic.md;
 * coefficients come from fit.py.
 */
#ifndef QN_ERF_F64_H
#define QN_ERF_F64_H

#include "base.h"
#include "math_f64.h"

/* erf(x) for |x| <= 1. */
QN_FN double qn_erf_small_f64(double x) {
  const double z = x * x;
  double q = -0x1.29b9f1b3df556p-38;
  q = qn_fma(q, z, 0x1.7f072188e194dp-34);
  q = qn_fma(q, z, -0x1.4e607b41a6416p-30);
  q = qn_fma(q, z, 0x1.fc4356498c2d9p-27);
  q = qn_fma(q, z, -0x1.5f6d925a0bc7ap-23);
  q = qn_fma(q, z, 0x1.b9e6509b9867dp-20);
  q = qn_fma(q, z, -0x1.f4d2561aeafd4p-17);
  q = qn_fma(q, z, 0x1.f9a326c233146p-14);
  q = qn_fma(q, z, -0x1.c02db3feeb579p-11);
  q = qn_fma(q, z, 0x1.565bcd0e6502dp-8);
  q = qn_fma(q, z, -0x1.b82ce312889bap-6);
  q = qn_fma(q, z, 0x1.ce2f21a042bdep-4);
  q = qn_fma(q, z, -0x1.812746b0379e7p-2);
  q = qn_fma(q, z, 0x1.06eba8214db69p-3);
  return qn_fma(q, x, x);
}
/* erfc(t) for t >= 0.5: e^(-t^2) times a polynomial in (t - 2) / (t + 2). */
QN_FN double qn_erfc_large_f64(double t) {
  const double c = t > 28.0 ? 28.0 : t;
  const double u = (c - 2.0) / (c + 2.0);
  double low;
  const double square = qn_two_product(c, c, &low);
  double q = -0x1.30143482272e1p-29;
  q = qn_fma(q, u, -0x1.c6d2b91ff71e8p-28);
  q = qn_fma(q, u, 0x1.1e43c1257af0cp-27);
  q = qn_fma(q, u, 0x1.bb0f7454f9666p-25);
  q = qn_fma(q, u, 0x1.0c54de15a3aa6p-25);
  q = qn_fma(q, u, -0x1.422c6b3166c49p-23);
  q = qn_fma(q, u, -0x1.569377ec9c9dap-22);
  q = qn_fma(q, u, -0x1.066ece572984cp-26);
  q = qn_fma(q, u, 0x1.12ca300a9f7afp-20);
  q = qn_fma(q, u, 0x1.ec7e000fafcd2p-20);
  q = qn_fma(q, u, -0x1.33c646785d9a4p-21);
  q = qn_fma(q, u, -0x1.0eade06b4c21ap-17);
  q = qn_fma(q, u, -0x1.6be4626cc7633p-17);
  q = qn_fma(q, u, 0x1.1e7f35315cf4ap-16);
  q = qn_fma(q, u, 0x1.2ef96b90b7fefp-14);
  q = qn_fma(q, u, 0x1.205233f14ddc4p-16);
  q = qn_fma(q, u, -0x1.5ba4324a1de60p-12);
  q = qn_fma(q, u, -0x1.b6fbf5bf766bap-12);
  q = qn_fma(q, u, 0x1.9517bb5558b27p-10);
  q = qn_fma(q, u, 0x1.a89eafef97f86p-9);
  q = qn_fma(q, u, -0x1.606e41550d604p-7);
  q = qn_fma(q, u, -0x1.2a88e61074082p-6);
  q = qn_fma(q, u, 0x1.1e2deea6b112ep-3);
  q = qn_fma(q, u, -0x1.5fd386754f010p-2);
  q = qn_fma(q, u, 0x1.058671b52c776p-1);
  return qn_mul(qn_exp_sum_f64(-square, -low), (q + q) / (c + 2.0));
}
QN_FN double qn_erf_f64(double x) {
  const double a = qn_abs_f64(x);
  return a < 1.0 ? qn_erf_small_f64(x) : qn_copysign_f64(1.0 - qn_erfc_large_f64(a), x);
}
QN_FN double qn_erfc_f64(double x) {
  if (x < 0.5 && x > -1.0) return 1.0 - qn_erf_small_f64(x);
  return x < 0.0 ? 2.0 - qn_erfc_large_f64(-x) : qn_erfc_large_f64(x);
}
/* The x with erf(x) = y: a closed approximation refined by Halley steps. */
QN_FN double qn_erfinv_f64(double y) {
  const double a = qn_abs_f64(y);
  const double l = qn_log_f64((1.0 - a) * (1.0 + a));
  const double w = qn_fma(0.5, l, 4.3307467508); /* 2 / (pi 0.147) + l / 2 */
  double x = sqrt(sqrt(qn_fma(w, w, -6.8027210884 * l)) - w);
  int k;
  if (!(a < 1.0)) return a == 1.0 ? qn_copysign_f64(QN_INF_F64, y) : QN_NAN_F64;
  if (a < 0x1p-28) return qn_mul(y, 0x1.c5bf891b4ef6bp-1);
  for (k = 0; k < 3; ++k) {
    const double miss = a < 0.5 ? qn_erf_f64(x) - a : (1.0 - a) - qn_erfc_f64(x);
    const double step = miss / (0x1.20dd750429b6dp+0 * qn_exp_f64(-(x * x)));
    x -= step / qn_fma(x, step, 1.0);
  }
  return qn_copysign_f64(x, y);
}

QN_FN double qn_gelu_f64(double x) {
  const double h = 0.5 * x;
  return qn_fma(h, qn_erf_f64(x * 0x1.6a09e667f3bcdp-1), h);
}

#endif /* QN_ERF_F64_H */
