/* Rows that a block of threads reads once: each thread keeps the elements of one lane of one block
 * of 1024 (kernels/numerics/reduce.h) in registers, from the first phase to the last. */
#ifndef QK_TEAM_KEPT_H
#define QK_TEAM_KEPT_H

#include "kernels/common/team_ending.h"
#include "kernels/common/unroll.h"

#define QK_TEAM_CHAIN (QN_BLOCK / QN_LANES) /* elements of a lane */
#define QK_TEAM_KEPT_CODES (QK_TEAM * QK_TEAM_CHAIN)
#define QK_TEAM_KEPT_LONGEST (QK_TEAM / QN_LANES * QN_BLOCK) /* row */

/* What threads keep over phases: of CUDA each its own registers, elsewhere all of them an array. */
#if defined(__CUDA_ARCH__)
#define QK_TEAM_KEEP(name) float name[1][QK_TEAM_CHAIN]
#define QK_TEAM_KEPT(name, t) name[0]
#else
#define QK_TEAM_KEEP(name) float name[QK_TEAM][QK_TEAM_CHAIN]
#define QK_TEAM_KEPT(name, t) name[t]
#endif

/* Whether threads can keep the rows: there is one for each lane. */
QK_UNIT int qk_team_keeps(const qk_team* m) { return m->blocks * QN_LANES <= m->size; }

/* The elements of thread t: of row `row`, the r-th of the unit; element j of them is number
 * first + j * QN_LANES of the row, and there are `count`. No thread has more than `most`, which the
 * compiler knows where it knows the length of a row. */
typedef struct qk_chain {
  int32_t r, first, count, most;
  int64_t row;
} qk_chain;
QK_UNIT int qk_chain_has(const qk_chain* c, int32_t j) { return j < c->most && j < c->count; }
QK_UNIT qk_chain qk_team_chain(const qk_team* m, int64_t unit, int32_t rows, int32_t n, int32_t t) {
  const int32_t at = t % m->size, block = at / QN_LANES, r = t / m->size;
  const int32_t most = n < QN_BLOCK ? (n + QN_LANES - 1) / QN_LANES : QK_TEAM_CHAIN;
  const qk_chain none = {r, 0, 0, most, unit * m->rows + r};
  qk_chain c = none;
  c.first = block * QN_BLOCK + at % QN_LANES;
  c.count = (n - c.first + QN_LANES - 1) / QN_LANES;
  if (c.count > most) c.count = most;
  return block < m->blocks && c.row < rows && c.first < n ? c : none;
}

#define QK_WITH qk_kept_sum, 0.0f, QN_STEP_ADD
#include "kernels/common/team_kept.inc"
#define QK_WITH qk_kept_deviation, 0.0f, QN_STEP_DEVIATION_F32
#include "kernels/common/team_kept.inc"

/* The least and the most of a chain, 0 included; what is NaN does not count. */
QK_UNIT void qk_kept_range(const qk_chain* c, const float* kept, float* least, float* most) {
  float low = 0.0f, high = 0.0f;
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_TEAM_CHAIN; ++j) {
    if (!qk_chain_has(c, j)) continue;
    low = qk_team_lesser(kept[j], low);
    high = qk_team_larger(kept[j], high);
  }
  *least = low;
  *most = high;
}

/* Stores `bytes` bytes that threads have left in shared memory, 16 at a time where that is aligned.
 */
QK_UNIT void qk_team_put(int32_t t, uint8_t* to, const uint8_t* from, int32_t bytes) {
  const int wide = (uintptr_t)to % 16 == 0;
  const int32_t whole = wide ? bytes / 16 * 16 : 0;
  for (int32_t i = 16 * t; i < whole; i += 16 * QK_TEAM) {
#if defined(__CUDA_ARCH__)
    *(uint4*)(to + i) = *(const uint4*)(from + i);
#else
    memcpy(to + i, from + i, 16);
#endif
  }
  for (int32_t i = whole + t; i < bytes; i += QK_TEAM) to[i] = from[i];
}

#endif
