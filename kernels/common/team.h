/* Bodies for CUDA whose unit is the work of a block of QK_TEAM threads, some rows of an array each.
 * They are written in phases: what each thread does, QK_EACH_THREAD, and then all wait for each
 * other, QK_TEAM_WAIT; what one phase leaves for another is QK_TEAM_SHARED. Compilers without CUDA
 * make a loop over the threads of each phase, so the same text is tested there.
 *
 * Row reductions are those of kernels/numerics/reduce.h: a lane of a block is one thread's work,
 * and the trees are folded by many threads, so the bits are the same. */
#ifndef QK_TEAM_H
#define QK_TEAM_H

#include "kernels/common/cuda.h"
#include "kernels/common/unroll.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/reduce.h"

#define QK_TEAM 256
#define QK_TEAM_ROWS 16    /* in a unit, at most */
#define QK_TEAM_PARTS 2048 /* lanes of the blocks of all rows of a unit */
#define QK_TEAM_LONGEST (QK_TEAM_PARTS / QN_LANES * QN_BLOCK)

#if defined(__CUDA_ARCH__)
#define QK_EACH_THREAD(t) for (int32_t t = (int32_t)threadIdx.x, qk_turn = 1; qk_turn; qk_turn = 0)
#define QK_TEAM_WAIT __syncthreads();
#define QK_TEAM_SHARED __shared__
#define QK_TEAM_ALIGNED __align__(16)
#else
#define QK_EACH_THREAD(t) for (int32_t t = 0; t < QK_TEAM; ++t)
#define QK_TEAM_WAIT
#define QK_TEAM_SHARED
#define QK_TEAM_ALIGNED
#endif

/* What a block shares is declared where it is needed: launches need to add none. */
#define QK_TEAM_SHARES(symbol, PARAMS)               \
  QK_UNIT int32_t symbol##_shared(const PARAMS* p) { \
    (void)p;                                         \
    return 0;                                        \
  }

/* Rows that a unit computes, threads for each, blocks of 1024 elements of a row. */
typedef struct qk_team {
  int32_t rows, size, blocks;
} qk_team;

/* Rows of n elements: several in a unit, unless units are few or rows long. */
QK_UNIT qk_team qk_team_of(int32_t rows, int32_t n) {
  qk_team m = {QK_TEAM_ROWS, 0, n > QN_BLOCK ? (n + QN_BLOCK - 1) / QN_BLOCK : 1};
  while (m.rows > 1 && (m.rows * m.blocks * QN_LANES > QK_TEAM || rows / m.rows < 256)) m.rows /= 2;
  m.size = QK_TEAM / m.rows;
  return m;
}
QK_UNIT int64_t qk_team_units(int32_t rows, int32_t n) {
  const qk_team m = qk_team_of(rows, n);
  return (rows + m.rows - 1) / m.rows;
}
/* The first part of row r of a unit. */
QK_UNIT int32_t qk_team_part(const qk_team* m, int32_t r) { return r * m->blocks * QN_LANES; }

#define QK_WITH qk_team_sum, 0.0f, QN_STEP_ADD, QN_JOIN_ADD
#include "kernels/common/team.inc"
#define QK_WITH qk_team_deviation, 0.0f, QN_STEP_DEVIATION_F32, QN_JOIN_ADD
#include "kernels/common/team.inc"
#define QK_WITH qk_team_max, -QN_INF_F32, QN_STEP_MAX_F32, qn_max_f32
#include "kernels/common/team.inc"

/* The least and the most of what the threads of each row found, low[t] and high[t]: then those of
 * row r are where its first thread is. They do not depend on the order. */
QK_UNIT void qk_team_range(const qk_team* m, float* low, float* high) {
  QK_TEAM_WAIT
  for (int32_t half = m->size / 2; half > 0; half /= 2) {
    QK_EACH_THREAD(t) {
      if (t % m->size < half) {
        low[t] = low[t + half] < low[t] ? low[t + half] : low[t];
        high[t] = high[t + half] > high[t] ? high[t + half] : high[t];
      }
    }
    QK_TEAM_WAIT
  }
}

#endif
