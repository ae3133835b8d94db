/* Codes of qn_gelu_f32 in bytes, without its floats: of most arguments only an estimate is
 * computed, which tells the code unless it is near a tie, and which arguments may have the least or
 * the greatest result. The others are computed as they are defined, so that codes have the bits of
 * kernels/common/quantize_epilogue.h. kernels/activation/test.c proves what is said here of all
 * floats. */
#ifndef QK_GELU_CODES_H
#define QK_GELU_CODES_H

#include <math.h>

#include "kernels/activation/gelu.h"
#include "kernels/common/quantize_epilogue.h"
#include "kernels/common/shared.h"

#if QK_VEC16_REGISTERS == 1

#define QK_GELU_BOTTOM (-0.7518f) /* where gelu is least, about */
#define QK_GELU_OFF 0x1.4p-18f    /* no estimate is as far from the result */

/* What is known of the range of some results: the greatest argument, by lane, which has the
 * greatest result if that is more than 0, the least result so far, and between which arguments a
 * lesser one may have its argument. */
typedef struct qk_gelu_seen {
  __m512 most;
  float least, left, right;
} qk_gelu_seen;

QK_INLINE qk_gelu_seen qk_gelu_nothing_seen(void) {
  const qk_gelu_seen seen = {_mm512_setzero_ps(), 0.0f, -QN_INF_F32, QN_INF_F32};
  return seen;
}

/* Arguments beyond which no result is less than that of x, on either side of the bottom: results
 * waver by some units there, and far to the left, where they all are nearly 0. */
QK_INLINE float qk_gelu_right_of(float x) {
  const float d = x - QK_GELU_BOTTOM;
  return QK_GELU_BOTTOM + sqrtf(qn_fmaf(d, d, 1e-6f));
}
QK_INLINE float qk_gelu_left_of(float x) {
  const float d = QK_GELU_BOTTOM - x;
  return x < -4.0f ? -QN_INF_F32 : qn_fmaf(sqrtf(qn_fmaf(d, d, 1e-6f)), -1.004f, QK_GELU_BOTTOM);
}

/* A group that may have the least result. */
QK_SHARED void qk_gelu_look(const float* x, qk_gelu_seen* seen) {
  const __m512 bottom = _mm512_set1_ps(QK_GELU_BOTTOM);
  __m512 left = _mm512_set1_ps(-QN_INF_F32), right = _mm512_set1_ps(QN_INF_F32);
  float y[QK_GELU_GROUP], edge;
  qk_range range = {seen->least, 0.0f};
  qk_gelu_row(x, QK_GELU_GROUP, y);
  qk_epilogue_range(y, QK_GELU_GROUP, &range);
  seen->least = range.least;
  for (int j = 0; j < QK_GELU_VECTORS; ++j) {
    const __m512 v = _mm512_loadu_ps(x + 16 * j);
    left = _mm512_mask_max_ps(left, _mm512_cmp_ps_mask(v, bottom, _CMP_LT_OQ), v, left);
    right = _mm512_mask_min_ps(right, _mm512_cmp_ps_mask(v, bottom, _CMP_GE_OQ), v, right);
  }
  edge = qk_gelu_left_of(_mm512_reduce_max_ps(left));
  seen->left = edge > seen->left ? edge : seen->left;
  edge = qk_gelu_right_of(_mm512_reduce_min_ps(right));
  seen->right = edge < seen->right ? edge : seen->right;
}

/* Fewer than a group. */
QK_SHARED void qk_gelu_see_rest(const float* x, int32_t n, qk_gelu_seen* seen) {
  float y[QK_GELU_GROUP];
  qk_range range = {seen->least, 0.0f};
  qk_gelu_row(x, n, y);
  qk_epilogue_range(y, n, &range);
  seen->least = range.least;
  for (int32_t i = 0; i < n; ++i) seen->most = _mm512_max_ps(_mm512_set1_ps(x[i]), seen->most);
}

/* Widens what is known by n arguments. */
QK_INLINE void qk_gelu_see(const float* x, int32_t n, qk_gelu_seen* seen) {
  __m512 most = seen->most;
  int32_t i = 0;
  for (; i + QK_GELU_GROUP <= n; i += QK_GELU_GROUP) {
    const __m512 left = _mm512_set1_ps(seen->left), right = _mm512_set1_ps(seen->right);
    __mmask16 low = 0;
    QK_UNROLL for (int j = 0; j < QK_GELU_VECTORS; ++j) {
      const __m512 v = _mm512_loadu_ps(x + i + 16 * j);
      most = _mm512_max_ps(v, most);
      low |= _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(v, left, _CMP_GT_OQ), v, right, _CMP_LT_OQ);
    }
    if (low) qk_gelu_look(x + i, seen);
  }
  seen->most = most;
  if (i < n) qk_gelu_see_rest(x + i, n - i, seen);
}
QK_INLINE qk_range qk_gelu_range(const qk_gelu_seen* seen) {
  qk_range range = {seen->least, _mm512_reduce_max_ps(seen->most)};
  qk_gelu_row(&range.most, 1, &range.most);
  return range;
}

/* gelu(x) - max(x, 0) falls and rises with |x| alone: a cubic polynomial of what |x| times 15.5 /
 * 4.85 is more than the nearest integer, for each of these (kernels/numerics/minimax.py); it stays
 * as it is from 4.85 on. */
typedef struct qk_gelu_estimate {
  __m512 cubic[4], half;
} qk_gelu_estimate;
QK_INLINE qk_gelu_estimate qk_gelu_estimate_of(float inverse) {
  static const float cubic[4][16] = {
      {-0x1.4c2f18p-11f, -0x1.34c62ap-9f, -0x1.ed5da2p-9f, -0x1.f555e0p-9f, -0x1.72f42ep-9f,
       -0x1.7e439cp-10f, -0x1.4e2644p-12f, 0x1.4ccae2p-12f, 0x1.06604ep-11f, 0x1.bf6f30p-12f,
       0x1.21e59ep-12f, 0x1.361638p-13f, 0x1.1b492cp-14f, 0x1.c1f8d2p-16f, 0x1.39f5bep-17f,
       0x1.838b30p-19f},
      {0x1.41987ap-5f, 0x1.20beb6p-5f, 0x1.a65ca2p-6f, 0x1.ce04a6p-7f, 0x1.02da24p-8f,
       -0x1.461c0ap-9f, -0x1.4b4296p-8f, -0x1.43a9eep-8f, -0x1.dbcf7cp-9f, -0x1.20fe26p-9f,
       -0x1.2cd228p-10f, -0x1.113c04p-11f, -0x1.b5a616p-13f, -0x1.371632p-14f, -0x1.8a4622p-16f,
       -0x1.bee95ap-18f},
      {-0x1.40740cp-3f, -0x1.4b10d6p-4f, -0x1.35f5b8p-6f, 0x1.580278p-6f, 0x1.3abf06p-5f,
       0x1.3fac5ep-5f, 0x1.f8145cp-6f, 0x1.4dd73ep-6f, 0x1.7f2dd6p-7f, 0x1.8307f0p-8f,
       0x1.5b05a8p-9f, 0x1.15b3dap-10f, 0x1.8e19cep-12f, 0x1.00383cp-13f, 0x1.28abc2p-15f,
       0x1.356822p-17f},
      {0x1.4acf4ap-22f, -0x1.e364c0p-4f, -0x1.548f08p-3f, -0x1.4e65d8p-3f, -0x1.0e1032p-3f,
       -0x1.79200ap-4f, -0x1.d0f388p-5f, -0x1.ff680ep-6f, -0x1.f8bbeap-7f, -0x1.c083c6p-8f,
       -0x1.679c1ep-9f, -0x1.0482dcp-10f, -0x1.555834p-12f, -0x1.94bdeep-14f, -0x1.b27ca2p-16f,
       -0x1.a6675ep-18f},
  };
  qk_gelu_estimate t;
  QK_UNROLL for (int k = 0; k < 4; ++k) {
    t.cubic[k] = _mm512_mul_ps(_mm512_loadu_ps(cubic[k]), _mm512_set1_ps(inverse));
  }
  t.half = _mm512_set1_ps(0.5f * inverse);
  return t;
}
/* gelu(x) * inverse, about: NaN for -inf, as gelu. */
QK_INLINE __m512 qk_gelu_estimated(const qk_gelu_estimate* t, __m512 x) {
  const __m512 magic = _mm512_set1_ps(0x1.8p23f), size = _mm512_abs_ps(x);
  const __m512 steps = _mm512_mul_ps(size, _mm512_set1_ps(0x1.99127ap+1f));
  const __m512 u = _mm512_min_ps(steps, _mm512_set1_ps(15.49f));
  const __m512 rounded = _mm512_add_ps(u, magic); /* the integer is in its low bits */
  const __m512i i = _mm512_castps_si512(rounded);
  const __m512 d = _mm512_sub_ps(u, _mm512_sub_ps(rounded, magic));
  __m512 y = _mm512_permutexvar_ps(i, t->cubic[0]);
  y = _mm512_fmadd_ps(y, d, _mm512_permutexvar_ps(i, t->cubic[1]));
  y = _mm512_fmadd_ps(y, d, _mm512_permutexvar_ps(i, t->cubic[2]));
  y = _mm512_fmadd_ps(y, d, _mm512_permutexvar_ps(i, t->cubic[3]));
  return _mm512_fmadd_ps(_mm512_add_ps(x, size), t->half, y);
}

QK_INLINE void qk_gelu_codes(const qk_quantize_epilogue* e, const float* x, int32_t n, float scale,
                             int32_t zero, ptrdiff_t at) {
  const float inverse = 1.0f / scale, off = qn_fmaf(QK_GELU_OFF, inverse, QK_EPILOGUE_OFF);
  const __m512 limit = _mm512_set1_ps(scale < 0x1p100f ? 0.5f - off : 0.0f);
  const qk_gelu_estimate t = qk_gelu_estimate_of(inverse);
  for (int32_t i = 0; i < n; i += QK_GELU_GROUP) {
    const int32_t some = n - i < QK_GELU_GROUP ? n - i : QK_GELU_GROUP;
    __m512 far = _mm512_setzero_ps();
    float y[QK_GELU_GROUP];
    QK_UNROLL for (int j = 0; some == QK_GELU_GROUP && j < QK_GELU_VECTORS; ++j) {
      const __m512 v = qk_gelu_estimated(&t, _mm512_loadu_ps(x + i + 16 * j));
      far = _mm512_max_ps(far, qk_epilogue_16_bytes(e, v, zero, e->y + at + i + 16 * j));
    }
    if (some == QK_GELU_GROUP && _mm512_cmp_ps_mask(far, limit, _CMP_NLT_UQ) == 0) continue;
    qk_gelu_row(x + i, some, y);
    qk_epilogue_codes(e, y, some, scale, zero, at + i);
  }
}

/* All codes of rows of n arguments that begin `stride` elements apart, where a run finds one scale
 * for all; 0: they are not made. */
QK_INLINE int qk_gelu_tensor(const qk_quantize_epilogue* e, const float* x, int32_t rows, int32_t n,
                             int32_t stride) {
  qk_gelu_seen seen = qk_gelu_nothing_seen();
  qk_range range;
  float scale;
  int32_t zero;
  if (e->to.mode != QK_PER_TENSOR || e->to.keep || e->to.size != 1 || e->to.reciprocal) return 0;
  if (rows == 0 || n == 0) return 0;
  for (int32_t r = 0; r < rows; ++r) qk_gelu_see(x + (ptrdiff_t)r * stride, n, &seen);
  range = qk_gelu_range(&seen);
  qn_range_scale(range.least, range.most, e->to.lo, e->to.hi, e->to.symmetric, &scale, &zero);
  for (int32_t r = 0; r < rows; ++r) {
    qk_gelu_codes(e, x + (ptrdiff_t)r * stride, n, scale, zero, (ptrdiff_t)r * n);
  }
  e->y_scales[0] = scale;
  e->y_zeros[0] = zero;
  return 1;
}

#define QK_GELU_TENSOR(e, x, rows, n, stride) qk_gelu_tensor(e, x, rows, n, stride)
#else
#define QK_GELU_TENSOR(e, x, rows, n, stride) 0
#endif

#endif
