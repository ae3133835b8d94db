/* Norms of rows that threads keep (kernels/common/block_resident.h), for kernels/norm/block.cu. */
#ifndef QK_NORM_RESIDENT_H
#define QK_NORM_RESIDENT_H

#include "kernels/common/block_resident.h"
#include "kernels/common/codes.h"
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

/* Whether codes are of a byte: those of a block go through its part of `room`, in shared memory,
 * what has a sign with its sign bit flipped. */
QK_UNIT int qk_norm_bytes(const qk_norm_rows* a) {
  return a->x_type == QK_I8 || a->x_type == QK_U8;
}
QK_UNIT void qk_norm_stage(const qk_block_rows* m, const qk_norm_rows* a, int64_t unit,
                           int32_t rows, uint8_t* room) {
  const uint32_t flip = a->x_type == QK_I8 ? 128 : 0;
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_block_chain(m, unit, rows, a->n, t);
    const uint8_t* const from = (const uint8_t*)a->codes + QK_NORM_ROW(a, c.row);
    qk_half_move(t % QN_LANES, room + t / QN_LANES * QK_BLOCK_CODE_BYTES, from + c.block * QN_BLOCK,
                 qk_chain_block(&c, a->n), flip);
  }
  QK_HALF_WAIT
}
/* 2^23 more than byte `lane` of a vector of 16: its bits below those of 2^23. */
QK_UNIT float qk_norm_byte(const uint8_t* codes, int32_t lane) {
#if defined(__CUDA_ARCH__)
  const uint32_t word = *(const uint32_t*)(codes + lane / 4 * 4);
  return qn_from_bits_f32(__byte_perm(word, 0x4b000000u, 0x7440u | (uint32_t)(lane % 4)));
#else
  return 8388608.0f + (float)codes[lane];
#endif
}
/* A thread's codes in shared memory, decoded. */
QK_UNIT void qk_norm_decoded(const qk_norm_rows* a, const qk_chain* c, const uint8_t* codes,
                             int32_t lane, float* resident) {
  const float zero = 8388608.0f + (float)(a->x_zero + (a->x_type == QK_I8 ? 128 : 0));
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_BLOCK_CHAIN; ++j) {
    resident[j] = 0.0f;
    if (qk_chain_has(c, j))
      resident[j] = qn_mulf(qk_norm_byte(codes + j * QN_LANES, lane) - zero, a->x_scale);
  }
}
/* A thread's elements of x, from memory. */
QK_UNIT void qk_norm_own(const qk_norm_rows* a, const qk_chain* c, float* resident) {
  const ptrdiff_t from = QK_NORM_ROW(a, c->row) + c->first;
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_BLOCK_CHAIN; ++j) {
    resident[j] = 0.0f;
    if (!qk_chain_has(c, j)) continue;
    resident[j] = a->x_type == QK_F32
                      ? a->x[from + j * QN_LANES]
                      : qn_dequantize(qk_load_code(a->codes, a->x_type, from + j * QN_LANES),
                                      a->x_scale, a->x_zero);
  }
}
/* A thread's elements, to which the residual is added; sums are stored where they are wanted. */
QK_UNIT void qk_norm_add(const qk_norm_rows* a, const qk_chain* c, float* resident, float* sums) {
  const int64_t at = c->row * a->n + c->first;
  if (!a->residual) return;
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_BLOCK_CHAIN; ++j) {
    if (qk_chain_has(c, j)) resident[j] = resident[j] + a->residual[at + j * QN_LANES];
  }
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_BLOCK_CHAIN; ++j) {
    if (sums && c->stores && qk_chain_has(c, j)) sums[at + j * QN_LANES] = resident[j];
  }
}
QK_UNIT void qk_norm_bring(const qk_block_rows* m, const qk_norm_rows* a, int64_t unit,
                           int32_t rows, float* sums, uint8_t* room,
                           float (*resident)[QK_BLOCK_CHAIN]) {
  if (qk_norm_bytes(a)) qk_norm_stage(m, a, unit, rows, room);
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_block_chain(m, unit, rows, a->n, t);
    float* const own = QK_BLOCK_RESIDENT(resident, t);
    if (qk_norm_bytes(a)) {
      qk_norm_decoded(a, &c, room + t / QN_LANES * QK_BLOCK_CODE_BYTES, t % QN_LANES, own);
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
                           float rstd, float* resident) {
  QK_EACH_ON_GPU
  for (int32_t from = 0; from < QK_BLOCK_CHAIN; from += 16) {
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
        resident[from + j] = qk_norm_of(qn_mulf(resident[from + j], rstd),
                                        with_gamma ? &gamma[j] : 0, with_beta ? &beta[j] : 0);
    }
  }
}
/* The rows of a unit, normalised, in what their threads keep; their statistics likewise. */
QK_UNIT void qk_norm_resident(const qk_block_rows* m, const qk_norm_rows* a, int64_t unit,
                              int32_t rows, int32_t center, float eps, float* mean, float* rstd,
                              float* sums, uint8_t* room, float (*resident)[QK_BLOCK_CHAIN]) {
  QK_BLOCK_SHARED float lanes[QK_BLOCK_CHAINS];
  QK_BLOCK_SHARED float squares[QK_BLOCK_CHAINS];
  const float n = (float)a->n;
  qk_norm_bring(m, a, unit, rows, sums, room, resident);
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_block_chain(m, unit, rows, a->n, t);
    QK_BLOCK_RESIDENT(mean, t) =
        center ? qk_chain_sum(&c, QK_BLOCK_RESIDENT(resident, t), 0.0f) : 0.0f;
  }
  if (center) qk_block_fold_sum(m, mean, lanes);
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_block_chain(m, unit, rows, a->n, t);
    float* const own = QK_BLOCK_RESIDENT(resident, t);
    QK_BLOCK_RESIDENT(mean, t) = center ? QK_BLOCK_RESIDENT(mean, t) / n : 0.0f;
    QK_EACH_ON_GPU
    for (int32_t j = 0; j < QK_BLOCK_CHAIN; ++j) own[j] = own[j] - QK_BLOCK_RESIDENT(mean, t);
    QK_BLOCK_RESIDENT(rstd, t) = qk_chain_square(&c, own, 0.0f);
  }
  qk_block_fold_sum(m, rstd, squares);
  QK_EACH_THREAD(t) {
    const qk_chain c = qk_block_chain(m, unit, rows, a->n, t);
    float* const own = QK_BLOCK_RESIDENT(resident, t);
    QK_BLOCK_RESIDENT(rstd, t) = 1.0f / qn_sqrt_f32(QK_BLOCK_RESIDENT(rstd, t) / n + eps);
    if (a->gamma && a->beta) {
      qk_norm_apply(a, &c, 1, 1, QK_BLOCK_RESIDENT(rstd, t), own);
    } else if (a->gamma) {
      qk_norm_apply(a, &c, 1, 0, QK_BLOCK_RESIDENT(rstd, t), own);
    } else {
      qk_norm_apply(a, &c, 0, a->beta != 0, QK_BLOCK_RESIDENT(rstd, t), own);
    }
  }
}

#endif
