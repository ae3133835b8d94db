/* qn_gelu_f32 of rows, with its bits: four vectors take each step together where a processor waits
 * for a step of one. */
#ifndef QK_GELU_H
#define QK_GELU_H

#include "kernels/common/shared.h"
#include "kernels/common/vec16.h"
#include "kernels/numerics/scalar_ops.h"

#if QK_VEC16_REGISTERS == 1

#define QK_GELU_VECTORS 4
#define QK_GELU_GROUP (16 * QK_GELU_VECTORS) /* numbers that are worked on together */
/* v[j] = v[j] * by[j] + c, for all. */
QK_INLINE void qk_gelu_step(qk_v16* v, const qk_v16* by, float c) {
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) {
    v[j] = qk_v16_fma(v[j], by[j], qk_v16_set(c));
  }
}
QK_INLINE void qk_gelu_set(qk_v16* v, float c) {
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) v[j] = qk_v16_set(c);
}

/* The error function of a >= 0 near 0. */
QK_INLINE void qk_gelu_near(const qk_v16* a, qk_v16* s) {
  qk_v16 z[QK_GELU_VECTORS];
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) z[j] = qk_v16_mul(a[j], a[j]);
  qk_gelu_set(s, 0x1.555caep-14f);
  qk_gelu_step(s, z, -0x1.a7f69ep-11f);
  qk_gelu_step(s, z, 0x1.54858ap-8f);
  qk_gelu_step(s, z, -0x1.b807b0p-6f);
  qk_gelu_step(s, z, 0x1.ce2db8p-4f);
  qk_gelu_step(s, z, -0x1.812742p-2f);
  qk_gelu_step(s, z, 0x1.06eba8p-3f);
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) s[j] = qk_v16_fma(s[j], a[j], a[j]);
}

/* 1 - exp(-q), q being a polynomial of a: the error function beyond. */
QK_INLINE void qk_gelu_far(const qk_v16* a, qk_v16* p) {
  const qk_v16 magic = qk_v16_set(0x1.8p23f), one = qk_v16_set(1.0f);
  qk_v16 t[QK_GELU_VECTORS], q[QK_GELU_VECTORS], r[QK_GELU_VECTORS], k[QK_GELU_VECTORS];
  __m512i power[QK_GELU_VECTORS];
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) t[j] = _mm512_min_ps(qk_v16_set(4.0f), a[j]);
  qk_gelu_set(q, 0x1.7e9638p-25f);
  qk_gelu_step(q, t, -0x1.5c34d2p-19f);
  qk_gelu_step(q, t, 0x1.ccd686p-15f);
  qk_gelu_step(q, t, -0x1.51487ap-11f);
  qk_gelu_step(q, t, 0x1.41d538p-8f);
  qk_gelu_step(q, t, -0x1.b60be4p-6f);
  qk_gelu_step(q, t, 0x1.c49b32p-4f);
  qk_gelu_step(q, t, 0x1.4351cep-1f);
  qk_gelu_step(q, t, 0x1.216122p+0f);
  qk_gelu_step(q, t, -0x1.6e903cp-12f);
  /* As qn_exp_parts_f32: the power of two is in the low bits of what was rounded. */
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) {
    k[j] = _mm512_fnmadd_ps(q[j], qk_v16_set(0x1.715476p+0f), magic);
  }
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) {
    power[j] = _mm512_add_epi32(_mm512_slli_epi32(_mm512_castps_si512(k[j]), 23),
                                _mm512_set1_epi32(127 << 23));
    k[j] = _mm512_sub_ps(k[j], magic);
  }
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) {
    r[j] = _mm512_fmsub_ps(k[j], qk_v16_set(-0x1.62e4p-1f), q[j]);
  }
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) {
    r[j] = qk_v16_fma(k[j], qk_v16_set(-0x1.7f7d1cp-20f), r[j]);
  }
  qk_gelu_set(p, 0x1.a124e4p-13f);
  qk_gelu_step(p, r, 0x1.6d4316p-10f);
  qk_gelu_step(p, r, 0x1.1110e0p-7f);
  qk_gelu_step(p, r, 0x1.5554eap-5f);
  qk_gelu_step(p, r, 0x1.555556p-3f);
  qk_gelu_step(p, r, 0.5f);
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) p[j] = qk_v16_mul(p[j], r[j]);
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) p[j] = qk_v16_fma(p[j], r[j], r[j]);
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) p[j] = qk_v16_add(one, p[j]);
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) {
    p[j] = _mm512_fnmadd_ps(p[j], _mm512_castsi512_ps(power[j]), one);
  }
}

QK_INLINE void qk_gelu_vectors(const float* x, float* y) {
  const __m512i sign = _mm512_set1_epi32(INT32_MIN);
  qk_v16 u[QK_GELU_VECTORS], a[QK_GELU_VECTORS], s[QK_GELU_VECTORS], p[QK_GELU_VECTORS];
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) {
    u[j] = qk_v16_mul(qk_v16_load(x + 16 * j), qk_v16_set(0x1.6a09e6p-1f));
    a[j] = _mm512_abs_ps(u[j]);
  }
  qk_gelu_near(a, s);
  qk_gelu_far(a, p);
  QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) {
    const __mmask16 near = _mm512_cmp_ps_mask(a[j], qk_v16_set(0.95f), _CMP_LT_OQ);
    const __m512i value = _mm512_castps_si512(_mm512_mask_blend_ps(near, p[j], s[j]));
    const __m512i of_u = _mm512_and_si512(_mm512_castps_si512(u[j]), sign);
    const qk_v16 h = qk_v16_mul(qk_v16_set(0.5f), qk_v16_load(x + 16 * j));
    const __m512i erf = _mm512_or_si512(_mm512_andnot_si512(sign, value), of_u);
    qk_v16_store(y + 16 * j, qk_v16_fma(h, _mm512_castsi512_ps(erf), h));
  }
}

/* y may be x. A function of its own, for it takes many registers. */
QK_SHARED void qk_gelu_row(const float* x, int32_t n, float* y) {
  int32_t i = 0;
  for (; i + QK_GELU_GROUP <= n; i += QK_GELU_GROUP) qk_gelu_vectors(x + i, y + i);
  for (; i < n; ++i) y[i] = qn_gelu_f32(x[i]);
}

#else

/* y may be x. */
QK_INLINE void qk_gelu_row(const float* x, int32_t n, float* y) {
  for (int32_t i = 0; i < n; ++i) y[i] = qn_gelu_f32(x[i]);
}

#endif

#endif
