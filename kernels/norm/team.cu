/* A unit is some rows, which 256 threads normalise together (kernels/common/team.h). Where they are
 * neither long nor few, threads keep them (kernels/common/team_kept.h); others are read once for
 * each statistic and once for the results. */
#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/cuda.h"
#include "kernels/common/team_ending.h"
#include "kernels/common/team_kept.h"
#include "kernels/norm/norm.h"
#include "kernels/numerics/scalar_ops.h"

/* What the elements of a unit's rows are made of. Codes have x 0: threads keep their rows. */
typedef struct qk_norm_rows {
  const float *x, *residual, *gamma, *beta;
  const float *mean, *rstd; /* of each row */
  int32_t n, groups, inner, x_rows, x_block;
  const void* codes;
  int32_t x_type, x_zero;
  float x_scale;
} qk_norm_rows;

/* What becomes of element i of row `row`, the r-th of the unit, which is x. */
QK_UNIT float qk_norm_of(const qk_norm_rows* a, int32_t r, int64_t row, int32_t i, float x) {
  const int64_t c = row % a->groups * (a->n / a->inner) + i / a->inner;
  const float v = qn_mulf(x - a->mean[r], a->rstd[r]);
  if (a->gamma && a->beta) return qn_fmaf(v, a->gamma[c], a->beta[c]);
  if (a->gamma) return qn_mulf(v, a->gamma[c]);
  return a->beta ? v + a->beta[c] : v;
}
QK_UNIT float qk_norm_value(const qk_norm_rows* a, int32_t r, int64_t row, int32_t i) {
  const float own = a->x[QK_NORM_ROW(a, row) + i];
  return qk_norm_of(a, r, row, i, a->residual ? own + a->residual[row * a->n + i] : own);
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

/* A thread's codes from element `from` on, decoded. All are read before the first is: `type` is a
 * constant wherever this is inlined. */
QK_UNIT void qk_norm_decoded(const qk_norm_rows* a, const qk_chain* c, int32_t type, ptrdiff_t from,
                             float* kept) {
  int32_t code[QK_TEAM_CHAIN];
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j)
    code[j] = qk_chain_has(c, j) ? qk_load_code(a->codes, type, from + j * QN_LANES) : a->x_zero;
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j)
    kept[j] = qn_mulf((float)(code[j] - a->x_zero), a->x_scale);
}
/* A thread's elements of x. */
QK_UNIT void qk_norm_own(const qk_norm_rows* a, const qk_chain* c, float* kept) {
  const ptrdiff_t from = QK_NORM_ROW(a, c->row) + c->first;
  if (a->x_type == QK_F32) {
    const float* const x = a->x + from;
    QK_EACH_ON_GPU
    for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j)
      kept[j] = qk_chain_has(c, j) ? x[j * QN_LANES] : 0.0f;
  } else if (a->x_type == QK_I8) {
    qk_norm_decoded(a, c, QK_I8, from, kept);
  } else if (a->x_type == QK_U8) {
    qk_norm_decoded(a, c, QK_U8, from, kept);
  } else {
    qk_norm_decoded(a, c, a->x_type, from, kept);
  }
}
/* A thread's elements, read or added up; sums are stored where they are wanted. */
QK_UNIT void qk_norm_bring(const qk_norm_rows* a, const qk_chain* c, float* kept, float* sums) {
  const int64_t at = c->row * a->n + c->first;
  qk_norm_own(a, c, kept);
  if (!a->residual) return;
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
    if (qk_chain_has(c, j)) kept[j] = kept[j] + a->residual[at + j * QN_LANES];
  }
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
    if (sums && qk_chain_has(c, j)) sums[at + j * QN_LANES] = kept[j];
  }
}
/* The rows of a unit, normalised, in what their threads keep. */
QK_UNIT void qk_norm_kept(const qk_team* m, const qk_norm_rows* a, int64_t unit, int32_t rows,
                          int32_t center, float eps, float* mean, float* rstd, float* sums,
                          float (*kept)[QK_TEAM_CHAIN]) {
  QK_TEAM_SHARED float parts[QK_TEAM];
  const int32_t n = a->n, lanes = m->blocks * QN_LANES;
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_team_chain(m, unit, rows, n, t);
    qk_norm_bring(a, &c, QK_TEAM_KEPT(kept, t), sums);
    const float sum = qk_kept_sum(&c, QK_TEAM_KEPT(kept, t), 0.0f);
    if (t % m->size < lanes) parts[c.r * lanes + t % m->size] = center ? sum : 0.0f;
  }
  qk_team_sum_join(m, parts);
  QK_EACH_THREAD(t) {
    if (t < m->rows) mean[t] = center ? parts[t * lanes] / (float)n : 0.0f;
  }
  QK_TEAM_WAIT
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_team_chain(m, unit, rows, n, t);
    const float sum = qk_kept_deviation(&c, QK_TEAM_KEPT(kept, t), mean[c.r]);
    if (t % m->size < lanes) parts[c.r * lanes + t % m->size] = sum;
  }
  qk_team_deviation_join(m, parts);
  QK_EACH_THREAD(t) {
    if (t < m->rows) rstd[t] = 1.0f / qn_sqrt_f32(parts[t * lanes] / (float)n + eps);
  }
  QK_TEAM_WAIT
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_team_chain(m, unit, rows, n, t);
    float* const own = QK_TEAM_KEPT(kept, t);
    QK_EACH_ON_GPU
    for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
      if (qk_chain_has(&c, j)) own[j] = qk_norm_of(a, c.r, c.row, c.first + j * QN_LANES, own[j]);
    }
  }
}

QK_TEAM_SHARES(qk_norm_team, qk_norm_params)
QK_UNIT int64_t qk_norm_team_units(const qk_norm_params* p) { return qk_team_units(p->rows, p->n); }
QK_UNIT void qk_norm_team(const qk_norm_params* p, int64_t unit, const void* x, const void* gamma,
                          const void* beta, void* y, void* means, void* rstds) {
  QK_TEAM_SHARED float mean[QK_TEAM_ROWS];
  QK_TEAM_SHARED float rstd[QK_TEAM_ROWS];
  const qk_team m = qk_team_of(p->rows, p->n);
  const qk_norm_rows a = {(const float*)x,
                          0,
                          (const float*)gamma,
                          (const float*)beta,
                          mean,
                          rstd,
                          p->n,
                          p->groups,
                          p->inner,
                          p->x_rows,
                          p->x_block,
                          0,
                          QK_F32,
                          0,
                          1.0f};
  const float eps = p->eps + p->eps_rest;
  if (qk_team_keeps(&m)) {
    QK_TEAM_KEEP(kept);
    qk_norm_kept(&m, &a, unit, p->rows, p->center, eps, mean, rstd, 0, kept);
    QK_EACH_THREAD(t) {
      const qk_chain c = qk_team_chain(&m, unit, p->rows, p->n, t);
      float* const to = (float*)y + c.row * p->n + c.first;
      QK_EACH_ON_GPU
      for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
        if (qk_chain_has(&c, j)) to[j * QN_LANES] = QK_TEAM_KEPT(kept, t)[j];
      }
    }
  } else {
    qk_norm_statistics(&m, &a, unit, p->rows, p->center, eps, mean, rstd);
    QK_EACH_THREAD(t) {
      const int32_t r = t / m.size;
      const int64_t row = unit * m.rows + r;
      for (int32_t i = t % m.size; row < p->rows && i < p->n; i += m.size)
        ((float*)y)[row * p->n + i] = qk_norm_value(&a, r, row, i);
    }
  }
  QK_EACH_THREAD(t) {
    const int64_t row = unit * m.rows + t / m.size;
    if (row < p->rows && t % m.size == 0 && means) ((float*)means)[row] = mean[t / m.size];
    if (row < p->rows && t % m.size == 0 && rstds) ((float*)rstds)[row] = rstd[t / m.size];
  }
}

#define QK_WITH qk_norm_kept_end, qk_norm_quantize_params
#include "kernels/common/team_kept_ending.inc"
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
  const qk_norm_rows a = {p->x_type == QK_F32 ? (const float*)x : 0,
                          (const float*)residual,
                          (const float*)gamma,
                          (const float*)beta,
                          mean,
                          rstd,
                          p->n,
                          p->groups,
                          p->inner,
                          p->x_rows,
                          p->x_block,
                          x,
                          p->x_type,
                          p->x_zero,
                          p->x_scale};
  if (qk_team_keeps(&m)) {
    QK_TEAM_KEEP(kept);
    qk_norm_kept(&m, &a, unit, p->rows, p->center, p->eps, mean, rstd, (float*)sums, kept);
    qk_norm_kept_end(p, &m, unit, p->rows, p->n, kept, (const float*)scales, (const int32_t*)zeros,
                     y, (float*)y_scales, (int32_t*)y_zeros, (float*)floats, (float*)ranges);
    return;
  }
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
