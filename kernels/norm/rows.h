/* Normalised rows of f32, some at a time: a sum is one chain in every lane, for which a processor
 * would wait if it had no others. The bits are those of kernels/norm/body.inc. */
#ifndef QK_NORM_ROWS_H
#define QK_NORM_ROWS_H

#include "kernels/common/vec16.h"
#include "kernels/norm/norm.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"

#if QK_VEC16_REGISTERS

#define QK_NORM_ROWS 4 /* at a time */
/* Rows of whole vectors and one block of sums, with a channel for each element. */
#define QK_NORM_BY_VECTORS(p, gamma)                                                   \
  ((p)->inner == 1 && (p)->groups == 1 && (gamma) && (p)->n % 16 == 0 && (p)->n > 0 && \
   (p)->n <= QN_BLOCK)

/* Row r: of x, plus that of the residual where there is one, then kept in sums; y may be any of
 * them. */
typedef struct qk_norm_row {
  const float *x, *residual;
  float *sums, *y;
} qk_norm_row;

QK_INLINE void qk_norm_some(const qk_norm_row* row, int32_t n, int32_t center, float eps,
                            const float* gamma, const float* beta) {
  qk_v16 sum[QK_NORM_ROWS], less[QK_NORM_ROWS], by[QK_NORM_ROWS];
  QK_UNROLL for (int r = 0; r < QK_NORM_ROWS; ++r) sum[r] = less[r] = qk_v16_set(0.0f);
  for (int32_t i = 0; (center || row->residual) && i < n; i += 16) {
    QK_UNROLL for (int r = 0; r < QK_NORM_ROWS; ++r) {
      qk_v16 v = qk_v16_load(row[r].x + i);
      if (row->residual) {
        v = qk_v16_add(v, qk_v16_load(row[r].residual + i));
        qk_v16_store(row[r].sums + i, v);
      }
      sum[r] = qk_v16_add(sum[r], v);
    }
  }
  QK_UNROLL for (int r = 0; r < QK_NORM_ROWS; ++r) {
    if (center) less[r] = qk_v16_set(-(qk_v16_fold(sum[r]) / (float)n));
    sum[r] = qk_v16_set(0.0f);
  }
  for (int32_t i = 0; i < n; i += 16) {
    QK_UNROLL for (int r = 0; r < QK_NORM_ROWS; ++r) {
      const qk_v16 v = qk_v16_load((row->residual ? row[r].sums : row[r].x) + i);
      const qk_v16 d = center ? qk_v16_add(v, less[r]) : v;
      sum[r] = qk_v16_fma(d, d, sum[r]);
    }
  }
  QK_UNROLL for (int r = 0; r < QK_NORM_ROWS; ++r) {
    by[r] = qk_v16_set(1.0f / sqrtf(qk_v16_fold(sum[r]) / (float)n + eps));
  }
  for (int32_t i = 0; i < n; i += 16) {
    const qk_v16 g = qk_v16_load(gamma + i);
    QK_UNROLL for (int r = 0; r < QK_NORM_ROWS; ++r) {
      const qk_v16 x = qk_v16_load((row->residual ? row[r].sums : row[r].x) + i);
      const qk_v16 v = qk_v16_mul(center ? qk_v16_add(x, less[r]) : x, by[r]);
      qk_v16_store(row[r].y + i, beta ? qk_v16_fma(v, g, qk_v16_load(beta + i)) : qk_v16_mul(v, g));
    }
  }
}

/* As many rows of a call as can be computed together; how many they are. */
QK_INLINE int32_t qk_norm_vectors(const qk_norm_params* p, const float* x, const float* gamma,
                                  const float* beta, float* y) {
  int32_t r = 0;
  if (!QK_NORM_BY_VECTORS(p, gamma)) return 0;
  while (r + QK_NORM_ROWS <= p->rows) {
    qk_norm_row rows[QK_NORM_ROWS];
    for (int i = 0; i < QK_NORM_ROWS; ++i, ++r) {
      rows[i].x = x + QK_NORM_ROW(p, p->first + r);
      rows[i].residual = 0;
      rows[i].sums = 0;
      rows[i].y = y + (ptrdiff_t)r * p->n;
    }
    qk_norm_some(rows, p->n, p->center, p->eps + p->eps_rest, gamma, beta);
  }
  return r;
}
#define QK_NORM_VECTORS(p, x, gamma, beta, y) qk_norm_vectors(p, x, gamma, beta, y)
#else
#define QK_NORM_VECTORS(p, x, gamma, beta, y) 0
#endif

#endif
