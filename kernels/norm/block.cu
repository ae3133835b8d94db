/* A unit is some rows, which 256 threads normalise together (kernels/common/thread_block.h). Where
 * they are neither long nor few, threads keep them (kernels/common/block_resident.h); others are
 * read once for each statistic and once for the results. */
#include "kernels/common/block_epilogue.h"
#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/norm/resident.h"

/* The statistics of a unit's rows. */
QK_UNIT void qk_norm_statistics(const qk_block_rows* m, const qk_norm_rows* a, int64_t unit,
                                int32_t rows, int32_t center, float eps, float* mean, float* rstd) {
  QK_BLOCK_SHARED float lanes[QK_BLOCK_LANES];
  const int32_t n = a->n;
  QK_EACH_THREAD(t) {
    const int32_t r = t / m->size;
    const int64_t row = unit * m->rows + r, own = row < rows ? row : 0;
    qk_block_sum_lanes(m, t % m->size, a->x + QK_NORM_ROW(a, own),
                       a->residual ? a->residual + own * n : 0, center && row < rows ? n : 0, 0.0f,
                       lanes + qk_block_first_lane(m, r));
  }
  qk_block_sum_join(m, lanes);
  QK_EACH_THREAD(t) {
    if (t < m->rows) mean[t] = center ? lanes[qk_block_first_lane(m, t)] / (float)n : 0.0f;
  }
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) {
    const int32_t r = t / m->size;
    const int64_t row = unit * m->rows + r, own = row < rows ? row : 0;
    qk_block_deviation_lanes(m, t % m->size, a->x + QK_NORM_ROW(a, own),
                             a->residual ? a->residual + own * n : 0, row < rows ? n : 0, mean[r],
                             lanes + qk_block_first_lane(m, r));
  }
  qk_block_deviation_join(m, lanes);
  QK_EACH_THREAD(t) {
    if (t < m->rows)
      rstd[t] = 1.0f / qn_sqrt_f32(lanes[qk_block_first_lane(m, t)] / (float)n + eps);
  }
  QK_BLOCK_SYNC
}

QK_BLOCK_SHARES(qk_norm_block, qk_norm_params)
QK_UNIT int64_t qk_norm_block_units(const qk_norm_params* p) {
  return qk_block_row_units(p->rows, p->n);
}
QK_UNIT void qk_norm_block(const qk_norm_params* p, int64_t unit, const void* x, const void* gamma,
                           const void* beta, void* y, void* means, void* rstds) {
  QK_BLOCK_SHARED float mean[QK_BLOCK_ROWS];
  QK_BLOCK_SHARED float rstd[QK_BLOCK_ROWS];
  const qk_block_rows m = qk_block_rows_of(p->rows, p->n);
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
  if (qk_block_can_hold_rows(&m)) {
    QK_BLOCK_RESIDENT_ROWS(resident);
    QK_BLOCK_RESIDENT_VALUE(own_mean);
    QK_BLOCK_RESIDENT_VALUE(own_rstd);
    qk_norm_resident(&m, &a, unit, p->rows, p->center, eps, own_mean, own_rstd, 0, 0, resident);
    QK_EACH_THREAD(t) {
      const qk_chain c = qk_block_chain(&m, unit, p->rows, p->n, t);
      const int first = c.stores && c.first == 0;
      float* const to = (float*)y + c.row * p->n + c.first;
      QK_EACH_ON_GPU
      for (int32_t j = 0; j < QK_BLOCK_CHAIN; ++j) {
        if (c.stores && qk_chain_has(&c, j)) to[j * QN_LANES] = QK_BLOCK_RESIDENT(resident, t)[j];
      }
      if (first && means) ((float*)means)[c.row] = QK_BLOCK_RESIDENT(own_mean, t);
      if (first && rstds) ((float*)rstds)[c.row] = QK_BLOCK_RESIDENT(own_rstd, t);
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

#define QK_WITH qk_norm_resident_end, qk_norm_quantize_params
#include "kernels/common/block_resident_epilogue.inc"
#define QK_WITH qk_norm_end, qk_norm_quantize_params, qk_norm_rows, qk_norm_value
#include "kernels/common/block_epilogue.inc"

QK_BLOCK_SHARES(qk_norm_quantize_block, qk_norm_quantize_params)
QK_UNIT int64_t qk_norm_quantize_block_units(const qk_norm_quantize_params* p) {
  return qk_block_row_units(p->rows, p->n);
}
QK_UNIT void qk_norm_quantize_block(const qk_norm_quantize_params* p, int64_t unit, const void* x,
                                    const void* residual, const void* gamma, const void* beta,
                                    const void* scales, const void* zeros, void* y, void* y_scales,
                                    void* y_zeros, void* sums, void* floats, void* ranges) {
  QK_BLOCK_SHARED float mean[QK_BLOCK_ROWS];
  QK_BLOCK_SHARED float rstd[QK_BLOCK_ROWS];
  const qk_block_rows m = qk_block_rows_of(p->rows, p->n);
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
  if (qk_block_can_hold_rows(&m)) {
    QK_BLOCK_SHARED QK_BLOCK_ALIGNED uint8_t room[QK_BLOCK_RESIDENT_CODES];
    QK_BLOCK_RESIDENT_ROWS(resident);
    QK_BLOCK_RESIDENT_VALUE(own_mean);
    QK_BLOCK_RESIDENT_VALUE(own_rstd);
    qk_norm_resident(&m, &a, unit, p->rows, p->center, p->eps, own_mean, own_rstd, (float*)sums,
                     room, resident);
    qk_norm_resident_end(p, &m, unit, p->rows, p->n, resident, (const float*)scales,
                         (const int32_t*)zeros, y, (float*)y_scales, (int32_t*)y_zeros,
                         (float*)floats, (float*)ranges, room);
    return;
  }
  qk_norm_statistics(&m, &a, unit, p->rows, p->center, p->eps, mean, rstd);
  qk_norm_end(p, &m, unit, p->rows, p->n, &a, (const float*)scales, (const int32_t*)zeros, y,
              (float*)y_scales, (int32_t*)y_zeros, (float*)floats, (float*)ranges);
  if (!sums || !residual) return;
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) {
    const int64_t row = unit * m.rows + t / m.size;
    for (int32_t i = t % m.size; row < p->rows && i < p->n; i += m.size) {
      const int64_t at = row * p->n + i;
      ((float*)sums)[at] = a.x[QK_NORM_ROW(&a, row) + i] + a.residual[at];
    }
  }
}
