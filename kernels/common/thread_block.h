/* Bodies for CUDA whose unit is the work of a block of QK_THREAD_BLOCK threads, some rows of an
 * array each. They are written in phases: what each thread does, QK_EACH_THREAD, and then all wait
 * for each other, QK_BLOCK_SYNC; what one phase leaves for another is QK_BLOCK_SHARED. Compilers
 * without CUDA make a loop over the threads of each phase, so the same text is tested there.
 *
 * Row reductions are those of kernels/numerics/reduce.h: a lane of a block is one thread's work,
 * and the trees are folded by many threads, so the bits are the same. */
#ifndef QK_THREAD_BLOCK_H
#define QK_THREAD_BLOCK_H

#include "kernels/common/cuda.h"
#include "kernels/common/unroll.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/reduce.h"

#define QK_THREAD_BLOCK 256
#define QK_BLOCK_ROWS 16    /* in a unit, at most */
#define QK_BLOCK_LANES 2048 /* lanes of the blocks of all rows of a unit */
#define QK_BLOCK_LONGEST_ROW (QK_BLOCK_LANES / QN_LANES * QN_BLOCK)

#if defined(__CUDA_ARCH__)
#define QK_EACH_THREAD(t) for (int32_t t = (int32_t)threadIdx.x, qk_once = 1; qk_once; qk_once = 0)
#define QK_BLOCK_SYNC __syncthreads();
#define QK_BLOCK_SHARED __shared__
#define QK_BLOCK_ALIGNED __align__(16)
#else
#define QK_EACH_THREAD(t) for (int32_t t = 0; t < QK_THREAD_BLOCK; ++t)
#define QK_BLOCK_SYNC
#define QK_BLOCK_SHARED
#define QK_BLOCK_ALIGNED
#endif

/* What a block shares is declared where it is needed: launches need to add none. */
#define QK_BLOCK_SHARES(symbol, PARAMS)              \
  QK_UNIT int32_t symbol##_shared(const PARAMS* p) { \
    (void)p;                                         \
    return 0;                                        \
  }

/* Rows that a unit computes, threads for each, blocks of 1024 elements of a row. */
typedef struct qk_block_rows {
  int32_t rows, size, blocks;
} qk_block_rows;

/* Rows of n elements: several in a unit, unless units are few or rows long. */
QK_UNIT qk_block_rows qk_block_rows_of(int32_t rows, int32_t n) {
  qk_block_rows m = {QK_BLOCK_ROWS, 0, n > QN_BLOCK ? (n + QN_BLOCK - 1) / QN_BLOCK : 1};
  while (m.rows > 1 && (m.rows * m.blocks * QN_LANES > QK_THREAD_BLOCK || rows / m.rows < 256))
    m.rows /= 2;
  m.size = QK_THREAD_BLOCK / m.rows;
  return m;
}
QK_UNIT int64_t qk_block_row_units(int32_t rows, int32_t n) {
  const qk_block_rows m = qk_block_rows_of(rows, n);
  return (rows + m.rows - 1) / m.rows;
}
/* The first part of row r of a unit. */
QK_UNIT int32_t qk_block_first_lane(const qk_block_rows* m, int32_t r) {
  return r * m->blocks * QN_LANES;
}

#define QK_WITH qk_block_sum, 0.0f, QN_STEP_ADD, QN_JOIN_ADD
#include "kernels/common/block_reduce.inc"
#define QK_WITH qk_block_deviation, 0.0f, QN_STEP_DEVIATION_F32, QN_JOIN_ADD
#include "kernels/common/block_reduce.inc"
#define QK_WITH qk_block_max, -QN_INF_F32, QN_STEP_MAX_F32, qn_max_f32
#include "kernels/common/block_reduce.inc"

/* The least and the most of what the threads of each row found, low[t] and high[t]: then those of
 * row r are where its first thread is. They do not depend on the order. */
QK_UNIT void qk_block_range(const qk_block_rows* m, float* low, float* high) {
  QK_BLOCK_SYNC
  for (int32_t half = m->size / 2; half > 0; half /= 2) {
    QK_EACH_THREAD(t) {
      if (t % m->size < half) {
        low[t] = low[t + half] < low[t] ? low[t + half] : low[t];
        high[t] = high[t + half] > high[t] ? high[t + half] : high[t];
      }
    }
    QK_BLOCK_SYNC
  }
}

#endif
