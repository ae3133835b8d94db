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

/* The channel of element i of row `row`. */
QK_UNIT int64_t qk_norm_channel(const qk_norm_rows* a, int64_t row, int32_t i) {
  return row % a->groups * (a->n / a->inner) + i / a->inner;
}
/* What becomes of an element whose distance from the mean is v standard deviations. */
QK_UNIT float qk_norm_of(float v, const float* gamma, const float* beta) {
  if (gamma && beta) return qn_fmaf(v, *gamma, *beta);
  if (gamma) return qn_mulf(v, *gamma);
  return beta ? v + *beta : v;
}
/* Element i of row `row`, the r-th of the unit, from memory. */
QK_UNIT float qk_norm_value(const qk_norm_rows* a, int32_t r, int64_t row, int32_t i) {
  const float own = a->x[QK_NORM_ROW(a, row) + i];
  const float x = a->residual ? own + a->residual[row * a->n + i] : own;
  const int64_t c = qk_norm_channel(a, row, i);
  return qk_norm_of(qn_mulf(x - a->mean[r], a->rstd[r]), a->gamma ? a->gamma + c : 0,
                    a->beta ? a->beta + c : 0);
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

/* Whether codes are of a byte: those of a block go through its part of `room`, in shared memory,
 * what has a sign with its sign bit turned. */
QK_UNIT int qk_norm_bytes(const qk_norm_rows* a) {
  return a->x_type == QK_I8 || a->x_type == QK_U8;
}
QK_UNIT void qk_norm_stage(const qk_team* m, const qk_norm_rows* a, int64_t unit, int32_t rows,
                           uint8_t* room) {
  const uint32_t turn = a->x_type == QK_I8 ? 128 : 0;
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_team_chain(m, unit, rows, a->n, t);
    const uint8_t* const from = (const uint8_t*)a->codes + QK_NORM_ROW(a, c.row);
    qk_half_move(t % QN_LANES, room + t / QN_LANES * QK_TEAM_ROOM, from + c.block * QN_BLOCK,
                 qk_chain_block(&c, a->n), turn);
  }
  QK_HALF_WAIT
}
/* 2^23 more than byte `lane` of a piece of 16: its bits below those of 2^23. */
QK_UNIT float qk_norm_byte(const uint8_t* piece, int32_t lane) {
#if defined(__CUDA_ARCH__)
  const uint32_t word = *(const uint32_t*)(piece + lane / 4 * 4);
  return qn_from_bits_f32(__byte_perm(word, 0x4b000000u, 0x7440u | (uint32_t)(lane % 4)));
#else
  return 8388608.0f + (float)piece[lane];
#endif
}
/* A thread's codes in shared memory, decoded. */
QK_UNIT void qk_norm_decoded(const qk_norm_rows* a, const qk_chain* c, const uint8_t* codes,
                             int32_t lane, float* kept) {
  const float zero = 8388608.0f + (float)(a->x_zero + (a->x_type == QK_I8 ? 128 : 0));
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
    kept[j] = 0.0f;
    if (qk_chain_has(c, j))
      kept[j] = qn_mulf(qk_norm_byte(codes + j * QN_LANES, lane) - zero, a->x_scale);
  }
}
/* A thread's elements of x, from memory. */
QK_UNIT void qk_norm_own(const qk_norm_rows* a, const qk_chain* c, float* kept) {
  const ptrdiff_t from = QK_NORM_ROW(a, c->row) + c->first;
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
    kept[j] = 0.0f;
    if (!qk_chain_has(c, j)) continue;
    kept[j] = a->x_type == QK_F32
                  ? a->x[from + j * QN_LANES]
                  : qn_dequantize(qk_load_code(a->codes, a->x_type, from + j * QN_LANES),
                                  a->x_scale, a->x_zero);
  }
}
/* A thread's elements, to which the residual is added; sums are stored where they are wanted. */
QK_UNIT void qk_norm_add(const qk_norm_rows* a, const qk_chain* c, float* kept, float* sums) {
  const int64_t at = c->row * a->n + c->first;
  if (!a->residual) return;
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
    if (qk_chain_has(c, j)) kept[j] = kept[j] + a->residual[at + j * QN_LANES];
  }
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
    if (sums && c->stores && qk_chain_has(c, j)) sums[at + j * QN_LANES] = kept[j];
  }
}
QK_UNIT void qk_norm_bring(const qk_team* m, const qk_norm_rows* a, int64_t unit, int32_t rows,
                           float* sums, uint8_t* room, float (*kept)[QK_TEAM_CHAIN]) {
  if (qk_norm_bytes(a)) qk_norm_stage(m, a, unit, rows, room);
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_team_chain(m, unit, rows, a->n, t);
    float* const own = QK_TEAM_KEPT(kept, t);
    if (qk_norm_bytes(a)) {
      qk_norm_decoded(a, &c, room + t / QN_LANES * QK_TEAM_ROOM, t % QN_LANES, own);
    } else {
      qk_norm_own(a, &c, own);
    }
    qk_norm_add(a, &c, own, sums);
  }
  QK_HALF_WAIT
}
/* A thread's elements less their mean become results. What belongs to the columns is read 16 at a
 * time: one by one each would be waited for, and all together they need more registers than there
 * are. */
QK_UNIT void qk_norm_apply(const qk_norm_rows* a, const qk_chain* c, int with_gamma, int with_beta,
                           float rstd, float* kept) {
  QK_EACH_ON_GPU
  for (int32_t from = 0; from < QK_TEAM_CHAIN; from += 16) {
    float gamma[16], beta[16];
    if (from >= c->most) continue;
    QK_EACH_ON_GPU
    for (int32_t j = 0; j < 16; ++j) {
      if (!qk_chain_has(c, from + j)) continue;
      const int64_t at = qk_norm_channel(a, c->row, c->first + (from + j) * QN_LANES);
      if (with_gamma) gamma[j] = a->gamma[at];
      if (with_beta) beta[j] = a->beta[at];
    }
    QK_HALF_WAIT
    QK_EACH_ON_GPU
    for (int32_t j = 0; j < 16; ++j) {
      if (qk_chain_has(c, from + j))
        kept[from + j] = qk_norm_of(qn_mulf(kept[from + j], rstd), with_gamma ? &gamma[j] : 0,
                                    with_beta ? &beta[j] : 0);
    }
  }
}
/* The rows of a unit, normalised, in what their threads keep; their statistics likewise. */
QK_UNIT void qk_norm_kept(const qk_team* m, const qk_norm_rows* a, int64_t unit, int32_t rows,
                          int32_t center, float eps, float* mean, float* rstd, float* sums,
                          uint8_t* room, float (*kept)[QK_TEAM_CHAIN]) {
  QK_TEAM_SHARED float parts[QK_TEAM_CHAINS];
  QK_TEAM_SHARED float squares[QK_TEAM_CHAINS];
  const float n = (float)a->n;
  qk_norm_bring(m, a, unit, rows, sums, room, kept);
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_team_chain(m, unit, rows, a->n, t);
    QK_TEAM_KEPT(mean, t) = center ? qk_kept_sum(&c, QK_TEAM_KEPT(kept, t), 0.0f) : 0.0f;
  }
  if (center) qk_team_fold_sum(m, mean, parts);
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_team_chain(m, unit, rows, a->n, t);
    float* const own = QK_TEAM_KEPT(kept, t);
    QK_TEAM_KEPT(mean, t) = center ? QK_TEAM_KEPT(mean, t) / n : 0.0f;
    QK_EACH_ON_GPU
    for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) own[j] = own[j] - QK_TEAM_KEPT(mean, t);
    QK_TEAM_KEPT(rstd, t) = qk_kept_square(&c, own, 0.0f);
  }
  qk_team_fold_sum(m, rstd, squares);
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_team_chain(m, unit, rows, a->n, t);
    float* const own = QK_TEAM_KEPT(kept, t);
    QK_TEAM_KEPT(rstd, t) = 1.0f / qn_sqrt_f32(QK_TEAM_KEPT(rstd, t) / n + eps);
    if (a->gamma && a->beta) {
      qk_norm_apply(a, &c, 1, 1, QK_TEAM_KEPT(rstd, t), own);
    } else if (a->gamma) {
      qk_norm_apply(a, &c, 1, 0, QK_TEAM_KEPT(rstd, t), own);
    } else {
      qk_norm_apply(a, &c, 0, a->beta != 0, QK_TEAM_KEPT(rstd, t), own);
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
    QK_TEAM_OWN(own_mean);
    QK_TEAM_OWN(own_rstd);
    qk_norm_kept(&m, &a, unit, p->rows, p->center, eps, own_mean, own_rstd, 0, 0, kept);
    QK_EACH_THREAD(t) {
      const qk_chain c = qk_team_chain(&m, unit, p->rows, p->n, t);
      const int first = c.stores && c.first == 0;
      float* const to = (float*)y + c.row * p->n + c.first;
      QK_EACH_ON_GPU
      for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
        if (c.stores && qk_chain_has(&c, j)) to[j * QN_LANES] = QK_TEAM_KEPT(kept, t)[j];
      }
      if (first && means) ((float*)means)[c.row] = QK_TEAM_KEPT(own_mean, t);
      if (first && rstds) ((float*)rstds)[c.row] = QK_TEAM_KEPT(own_rstd, t);
    }
    return;
  }
  qk_norm_statistics(&m, &a, unit, p->rows, p->center, eps, mean, rstd);
  QK_EACH_THREAD(t) {
    const int32_t r = t / m.size;
    const int64_t row = unit * m.rows + r;
    for (int32_t i = t % m.size; row < p->rows && i < p->n; i += m.size)
      ((float*)y)[row * p->n + i] = qk_norm_value(&a, r, row, i);
    if (row < p->rows && t % m.size == 0 && means) ((float*)means)[row] = mean[r];
    if (row < p->rows && t % m.size == 0 && rstds) ((float*)rstds)[row] = rstd[r];
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
    QK_TEAM_SHARED QK_TEAM_ALIGNED uint8_t room[QK_TEAM_KEPT_CODES];
    QK_TEAM_KEEP(kept);
    QK_TEAM_OWN(own_mean);
    QK_TEAM_OWN(own_rstd);
    qk_norm_kept(&m, &a, unit, p->rows, p->center, p->eps, own_mean, own_rstd, (float*)sums, room,
                 kept);
    qk_norm_kept_end(p, &m, unit, p->rows, p->n, kept, (const float*)scales, (const int32_t*)zeros,
                     y, (float*)y_scales, (int32_t*)y_zeros, (float*)floats, (float*)ranges, room);
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
