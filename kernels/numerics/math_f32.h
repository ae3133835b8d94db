/* The hot float functions, in float: straight-line code without tables or calls, so that loops
 * over them vectorise. Errors are in docs/arithmetic.md; coefficients come from fit.py.
 */
#ifndef QN_MATH_F32_H
#define QN_MATH_F32_H

#include "base.h"

/* 2^n for -126 <= n <= 127. */
QN_FN float qn_pow2i_f32(int32_t n) { return qn_from_bits_f32(((uint32_t)n + 127u) << 23); }

/* Splits x into n ln2 + r with |r| <= ln2 / 2 and returns exp(r) - 1. |x| < 2^21. */
QN_FN float qn_exp_parts_f32(float x, int32_t* n) {
  const float magic = 0x1.8p23f; /* adding it rounds to an integer, left in the low bits */
  const float t = qn_fmaf(x, 0x1.715476p+0f, magic);
  const float k = t - magic;
  float r = qn_fmaf(k, -0x1.62e4p-1f, x);
  float q = 0x1.a124e4p-13f;
  r = qn_fmaf(k, -0x1.7f7d1cp-20f, r);
  *n = (int32_t)(qn_bits_f32(t) - qn_bits_f32(magic));
  q = qn_fmaf(q, r, 0x1.6d4316p-10f);
  q = qn_fmaf(q, r, 0x1.1110e0p-7f);
  q = qn_fmaf(q, r, 0x1.5554eap-5f);
  q = qn_fmaf(q, r, 0x1.555556p-3f);
  q = qn_fmaf(q, r, 0.5f);
  return qn_fmaf(q * r, r, r);
}

/* e^x. The scale 2^n is applied in two halves, so the only rounding into a denormal is the last. */
QN_FN float qn_exp_f32(float x) {
  int32_t n;
  const float p = 1.0f + qn_exp_parts_f32(qn_clamp_f32(x, -104.0f, 89.0f), &n);
  return qn_fmaf(p * qn_pow2i_f32(n >> 1), qn_pow2i_f32(n - (n >> 1)), 0.0f);
}

/* 2^x. */
QN_FN float qn_exp2_f32(float x) {
  const float magic = 0x1.8p23f;
  const float c = qn_clamp_f32(x, -151.0f, 129.0f);
  const float t = c + magic;
  const float r = c - (t - magic);
  const int32_t n = (int32_t)(qn_bits_f32(t) - qn_bits_f32(magic));
  float q = 0x1.00a582p-16f;
  q = qn_fmaf(q, r, 0x1.444000p-13f);
  q = qn_fmaf(q, r, 0x1.5d879ep-10f);
  q = qn_fmaf(q, r, 0x1.3b2a1cp-7f);
  q = qn_fmaf(q, r, 0x1.c6b08ep-5f);
  q = qn_fmaf(q, r, 0x1.ebfbe0p-3f);
  q = qn_fmaf(q, r, 0x1.62e430p-1f);
  q = qn_fmaf(q, r, 1.0f);
  return qn_fmaf(q * qn_pow2i_f32(n >> 1), qn_pow2i_f32(n - (n >> 1)), 0.0f);
}

/* e^x - 1, also where x is tiny. */
QN_FN float qn_expm1_f32(float x) {
  int32_t n;
  const float p = qn_exp_parts_f32(qn_clamp_f32(x, -18.0f, 89.0f), &n);
  const float h = qn_pow2i_f32(n - 1);
  const float y = qn_fmaf(qn_fmaf(h, p, h - 0.5f), 2.0f, 0.0f);
  return qn_select_f32(qn_abs_f32(x) < 0x1p-25f, x, qn_select_f32(n == 0, p, y));
}

/* log(2^e m) with m in [sqrt(1/2), sqrt(2)), plus a correction that is small against m. */
QN_FN float qn_log_parts_f32(float x, float correction) {
  const int tiny = x < 0x1p-126f;
  const uint32_t u = qn_bits_f32(qn_select_f32(tiny, x * 0x1p23f, x));
  const int32_t shifted = (int32_t)(u - 0x3f3504f3u) >> 23;
  const float m = qn_from_bits_f32(u - ((uint32_t)shifted << 23));
  const float e = (float)(shifted - (tiny ? 23 : 0));
  const float f = m - 1.0f;
  const float f2 = f * f;
  float g = 0x1.1d8ea6p-4f;
  float t;
  g = qn_fmaf(g, f, -0x1.d635bcp-4f);
  g = qn_fmaf(g, f, 0x1.dea282p-4f);
  g = qn_fmaf(g, f, -0x1.fcf4c6p-4f);
  g = qn_fmaf(g, f, 0x1.23d21ap-3f);
  g = qn_fmaf(g, f, -0x1.555b4ap-3f);
  g = qn_fmaf(g, f, 0x1.999d5ap-3f);
  g = qn_fmaf(g, f, -0x1.fffffcp-3f);
  g = qn_fmaf(g, f, 0x1.555554p-2f);
  t = qn_fmaf(e, -0x1.05c610p-29f, correction);
  t = qn_fmaf(f * f2, g, t);
  t = qn_fmaf(f2, -0.5f, t);
  return qn_fmaf(e, 0x1.62e430p-1f, f + t);
}

/* The natural logarithm: NaN below 0, -inf at 0. */
QN_FN float qn_log_f32(float x) {
  const float y = qn_log_parts_f32(x, 0.0f);
  const float edge = qn_select_f32(x == 0.0f, -QN_INF_F32, qn_select_f32(x < 0.0f, QN_NAN_F32, x));
  return qn_select_f32((x > 0.0f) & (x < QN_INF_F32), y, edge);
}

/* log(1 + x): what rounding 1 + x lost is given back. */
QN_FN float qn_log1p_f32(float x) {
  const float u = 1.0f + x;
  const float big = qn_select_f32(x > 1.0f, x, 1.0f);
  const float lost = qn_select_f32(x > 1.0f, 1.0f, x) - (u - big);
  const float y = qn_log_parts_f32(u, lost / u);
  const float edge =
      qn_select_f32(x == -1.0f, -QN_INF_F32, qn_select_f32(x < -1.0f, QN_NAN_F32, x));
  const int inside = (x > -1.0f) & (x < QN_INF_F32) & (qn_abs_f32(x) >= 0x1p-25f);
  return qn_select_f32(inside, y, edge);
}

QN_FN float qn_tanh_f32(float x) {
  int32_t n;
  const float b = qn_abs_f32(x);
  const float a = b > 10.0f ? 10.0f : b;
  const float p = qn_exp_parts_f32(a + a, &n);
  const float s = qn_pow2i_f32(n);
  const float t = qn_fmaf(s, p, s - 1.0f);
  const float y = t / (t + 2.0f);
  return qn_copysign_f32(qn_select_f32(b < 0x1p-12f, b, y), x);
}

/* 1 / (1 + e^-x), denormal results included. */
QN_FN float qn_sigmoid_f32(float x) {
  const float e = qn_exp_f32(-qn_abs_f32(x));
  return qn_select_f32(x < 0.0f, e, 1.0f) / (1.0f + e);
}

/* x * sigmoid(x). */
QN_FN float qn_silu_f32(float x) {
  const float e = qn_exp_f32(-qn_abs_f32(x));
  return (x * qn_select_f32(x < 0.0f, e, 1.0f)) / (1.0f + e);
}

/* log(1 + e^x) without overflow. */
QN_FN float qn_softplus_f32(float x) {
  const float tail = qn_log1p_f32(qn_exp_f32(-qn_abs_f32(x)));
  return (x < 0.0f ? 0.0f : x) + tail;
}
/* log(sigmoid(x)). */
QN_FN float qn_log_sigmoid_f32(float x) { return -qn_softplus_f32(-x); }

/* The error function: an odd polynomial near 0, 1 - exp(-Q(|x|)) beyond. */
QN_FN float qn_erf_f32(float x) {
  const float a = qn_abs_f32(x);
  const float z = a * a;
  const float t = a > 4.0f ? 4.0f : a;
  int32_t n;
  float s = 0x1.555caep-14f;
  float q = 0x1.7e9638p-25f;
  float p;
  s = qn_fmaf(s, z, -0x1.a7f69ep-11f);
  s = qn_fmaf(s, z, 0x1.54858ap-8f);
  s = qn_fmaf(s, z, -0x1.b807b0p-6f);
  s = qn_fmaf(s, z, 0x1.ce2db8p-4f);
  s = qn_fmaf(s, z, -0x1.812742p-2f);
  s = qn_fmaf(s, z, 0x1.06eba8p-3f);
  s = qn_fmaf(s, a, a);
  q = qn_fmaf(q, t, -0x1.5c34d2p-19f);
  q = qn_fmaf(q, t, 0x1.ccd686p-15f);
  q = qn_fmaf(q, t, -0x1.51487ap-11f);
  q = qn_fmaf(q, t, 0x1.41d538p-8f);
  q = qn_fmaf(q, t, -0x1.b60be4p-6f);
  q = qn_fmaf(q, t, 0x1.c49b32p-4f);
  q = qn_fmaf(q, t, 0x1.4351cep-1f);
  q = qn_fmaf(q, t, 0x1.216122p+0f);
  q = qn_fmaf(q, t, -0x1.6e903cp-12f);
  p = 1.0f + qn_exp_parts_f32(-q, &n);
  p = qn_fmaf(-p, qn_pow2i_f32(n), 1.0f);
  return qn_copysign_f32(qn_select_f32(a < 0.95f, s, p), x);
}

/* x / 2 * (1 + erf(x / sqrt 2)). */
QN_FN float qn_gelu_f32(float x) {
  const float h = 0.5f * x;
  return qn_fmaf(h, qn_erf_f32(x * 0x1.6a09e6p-1f), h);
}
/* x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). */
QN_FN float qn_gelu_tanh_f32(float x) {
  const float h = 0.5f * x;
  const float u = x * qn_fmaf(x * x, 0x1.2444f2p-5f, 0x1.988454p-1f);
  return qn_fmaf(h, qn_tanh_f32(u), h);
}
/* x / 2 * (1 + tanh(u)) with the logistic form used by some exporters: x * sigmoid(1.702 x). */
QN_FN float qn_gelu_quick_f32(float x) {
  const float v = x * 1.702f;
  const float e = qn_exp_f32(-qn_abs_f32(v));
  return (x * qn_select_f32(v < 0.0f, e, 1.0f)) / (1.0f + e);
}
/* x * tanh(softplus(x)). */
QN_FN float qn_mish_f32(float x) { return qn_mulf(x, qn_tanh_f32(qn_softplus_f32(x))); }

QN_FN float qn_sqrt_f32(float x) { return sqrtf(x); }
QN_FN float qn_rsqrt_f32(float x) { return 1.0f / sqrtf(x); }
QN_FN float qn_reciprocal_f32(float x) { return 1.0f / x; }
QN_FN float qn_softsign_f32(float x) { return x / (1.0f + qn_abs_f32(x)); }
QN_FN float qn_hardswish_f32(float x) { return (x * qn_clamp_f32(x + 3.0f, 0.0f, 6.0f)) / 6.0f; }

#endif /* QN_MATH_F32_H */
