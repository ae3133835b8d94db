/* A unit is some rows, which 256 threads normalise together (kernels/common/team.h). */
#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/common/team_ending.h"
#include "kernels/norm/norm.h"
#include "kernels/numerics/scalar_ops.h"

/* What the elements of a unit's rows are made of. */
typedef struct qk_norm_rows {
  const float *x, *residual, *gamma, *beta;
  const float *mean, *rstd; /* of each row */
  int32_t n, groups, inner, x_rows, x_block;
} qk_norm_rows;

QK_UNIT float qk_norm_value(const qk_norm_rows* a, int32_t r, int64_t row, int32_t i) {
  const int64_t at = row * a->n + i;
  const int64_t c = row % a->groups * (a->n / a->inner) + i / a->inner;
  const float own = a->x[QK_NORM_ROW(a, row) + i];
  const float x = a->residual ? own + a->residual[at] : own;
  const float v = qn_mulf(x - a->mean[r], a->rstd[r]);
  if (a->gamma && a->beta) return qn_fmaf(v, a->gamma[c], a->beta[c]);
  if (a->gamma) return qn_mulf(v, a->gamma[c]);
  return a->beta ? v + a->beta[c] : v;
}

/* The statistics of a unit's rows. */
QK_UNIT void qk_norm_statistics(const qk_team* m, const qk_norm_rows* a, int64_t unit, int32_t rows,
                                int32_t center, float eps, float* mean, float* rstd) {
  QK_TEAM_SHARED float parts[QK_TEAM_PARTS];
  const int32_t n = a->n;
  QK_EACH_THREAD(t) {
    const int32_t r = t / m->size;
    const int64_t row = unit * m->rows + r, own = row < rows ? row : 0;
    qk_team_sum_lanes(m, t % m->size, a->x + QK_NORM_ROW(a, own),
                      a->residual ? a->residual + own * n : 0, center && row < rows ? n : 0, 0.0f,
                      parts + qk_team_part(m, r));
  }
  qk_team_sum_join(m, parts);
  QK_EACH_THREAD(t) {
    if (t < m->rows) mean[t] = center ? parts[qk_team_part(m, t)] / (float)n : 0.0f;
  }
  QK_TEAM_WAIT
  QK_EACH_THREAD(t) {
    const int32_t r = t / m->size;
    const int64_t row = unit * m->rows + r, own = row < rows ? row : 0;
    qk_team_deviation_lanes(m, t % m->size, a->x + QK_NORM_ROW(a, own),
                            a->residual ? a->residual + own * n : 0, row < rows ? n : 0, mean[r],
                            parts + qk_team_part(m, r));
  }
  qk_team_deviation_join(m, parts);
  QK_EACH_THREAD(t) {
    if (t < m->rows) rstd[t] = 1.0f / qn_sqrt_f32(parts[qk_team_part(m, t)] / (float)n + eps);
  }
  QK_TEAM_WAIT
}

QK_TEAM_SHARES(qk_norm_team, qk_norm_params)
QK_UNIT int64_t qk_norm_team_units(const qk_norm_params* p) { return qk_team_units(p->rows, p->n); }
QK_UNIT void qk_norm_team(const qk_norm_params* p, int64_t unit, const void* x, const void* gamma,
                          const void* beta, void* y, void* means, void* rstds) {
  QK_TEAM_SHARED float mean[QK_TEAM_ROWS];
  QK_TEAM_SHARED float rstd[QK_TEAM_ROWS];
  const qk_team m = qk_team_of(p->rows, p->n);
  const qk_norm_rows a = {
      (const float*)x, 0,        (const float*)gamma, (const float*)beta, mean, rstd, p->n,
      p->groups,       p->inner, p->x_rows,           p->x_block};
  qk_norm_statistics(&m, &a, unit, p->rows, p->center, p->eps + p->eps_rest, mean, rstd);
  QK_EACH_THREAD(t) {
    const int32_t r = t / m.size;
    const int64_t row = unit * m.rows + r;
    for (int32_t i = t % m.size; row < p->rows && i < p->n; i += m.size)
      ((float*)y)[row * p->n + i] = qk_norm_value(&a, r, row, i);
    if (row < p->rows && t % m.size == 0 && means) ((float*)means)[row] = mean[r];
    if (row < p->rows && t % m.size == 0 && rstds) ((float*)rstds)[row] = rstd[r];
  }
}

#define QK_WITH qk_norm_end, qk_norm_quantize_params, qk_norm_rows, qk_norm_value
#include "kernels/common/team_ending.inc"

QK_TEAM_SHARES(qk_norm_quantize_team, qk_norm_quantize_params)
QK_UNIT int64_t qk_norm_quantize_team_units(const qk_norm_quantize_params* p) {
  return qk_team_units(p->rows, p->n);
}
QK_UNIT void qk_norm_quantize_team(const qk_norm_quantize_params* p, int64_t unit, const void* x,
                                   const void* residual, const void* gamma, const void* beta,
                                   const void* scales, const void* zeros, void* y, void* y_scales,
                                   void* y_zeros, void* sums, void* floats, void* ranges) {
  QK_TEAM_SHARED float mean[QK_TEAM_ROWS];
  QK_TEAM_SHARED float rstd[QK_TEAM_ROWS];
  const qk_team m = qk_team_of(p->rows, p->n);
  const qk_norm_rows a = {(const float*)x,
                          (const float*)residual,
                          (const float*)gamma,
                          (const float*)beta,
                          mean,
                          rstd,
                          p->n,
                          p->groups,
                          p->inner,
                          p->x_rows,
                          p->x_block};
  qk_norm_statistics(&m, &a, unit, p->rows, p->center, p->eps, mean, rstd);
  qk_norm_end(p, &m, unit, p->rows, p->n, &a, (const float*)scales, (const int32_t*)zeros, y,
              (float*)y_scales, (int32_t*)y_zeros, (float*)floats, (float*)ranges);
  if (!sums || !residual) return;
  QK_TEAM_WAIT
  QK_EACH_THREAD(t) {
    const int64_t row = unit * m.rows + t / m.size;
    for (int32_t i = t % m.size; row < p->rows && i < p->n; i += m.size) {
      const int64_t at = row * p->n + i;
      ((float*)sums)[at] = a.x[QK_NORM_ROW(&a, row) + i] + a.residual[at];
    }
  }
}
