/* Rows that a block of threads reads once: each thread keeps the elements of one lane of one block
 * of 1024 (kernels/numerics/reduce.h) in registers, from the first phase to the last. The 16 lanes
 * of a block are neighbours, half a warp: what they alone share needs no more than QK_HALF_WAIT. */
#ifndef QK_BLOCK_RESIDENT_H
#define QK_BLOCK_RESIDENT_H

#include "kernels/common/block_epilogue.h"
#include "kernels/common/bracket.h"
#include "kernels/common/unroll.h"

#define QK_BLOCK_CHAIN (QN_BLOCK / QN_LANES)                   /* elements of a lane */
#define QK_BLOCK_CHAINS (QK_THREAD_BLOCK / QN_LANES)           /* blocks of a unit */
#define QK_BLOCK_RESIDENT_LONGEST (QK_BLOCK_CHAINS * QN_BLOCK) /* row */
/* Bytes of shared memory for codes: those of a block lie where both halves of a warp find theirs at
 * once, in banks of their own. */
#define QK_BLOCK_CODE_BYTES (QN_BLOCK + 16)
#define QK_BLOCK_RESIDENT_CODES (QK_BLOCK_CHAINS * QK_BLOCK_CODE_BYTES)

/* What threads keep over phases: of CUDA each its own registers, elsewhere all of them an array. */
#if defined(__CUDA_ARCH__)
#define QK_BLOCK_RESIDENT_ROWS(name) float name[1][QK_BLOCK_CHAIN]
#define QK_BLOCK_RESIDENT_VALUE(name) float name[1]
#define QK_BLOCK_RESIDENT(name, t) name[0 * (t)]
#define QK_HALF_WAIT __syncwarp();
#else
#define QK_BLOCK_RESIDENT_ROWS(name) float name[QK_THREAD_BLOCK][QK_BLOCK_CHAIN]
#define QK_BLOCK_RESIDENT_VALUE(name) float name[QK_THREAD_BLOCK]
#define QK_BLOCK_RESIDENT(name, t) name[t]
#define QK_HALF_WAIT
#endif

/* Whether threads can keep the rows: there is one for each lane. */
QK_UNIT int qk_block_can_hold_rows(const qk_block_rows* m) {
  return m->blocks * QN_LANES <= m->size;
}

/* The elements of thread t: of row `row`, the r-th of the unit; element j of them is number
 * first + j * QN_LANES of the row, and there are `count`. No thread has more than `most`, and where
 * blocks are whole none has fewer: the compiler knows this where it knows the length of a row. A
 * thread without a row or block of its own computes another's, too, and stores nothing. Both halves
 * of a warp have the same block of two rows where a unit has several: what belongs to columns is
 * then the same. */
typedef struct qk_chain {
  int32_t r, block, first, count, most, stores;
  int64_t row;
} qk_chain;
QK_UNIT int qk_chain_has(const qk_chain* c, int32_t j) { return j < c->most && j < c->count; }
QK_UNIT qk_chain qk_block_chain(const qk_block_rows* m, int64_t unit, int32_t rows, int32_t n,
                                int32_t t) {
  const int whole = n % QN_LANES == 0 && (n < QN_BLOCK || n % QN_BLOCK == 0);
  const int32_t block = t / QN_LANES / m->rows;
  qk_chain c;
  c.r = t / QN_LANES % m->rows;
  c.row = unit * m->rows + c.r;
  c.stores = block < m->blocks && c.row < rows;
  if (c.row >= rows) c.row = rows - 1;
  c.block = block < m->blocks ? block : m->blocks - 1;
  c.first = c.block * QN_BLOCK + t % QN_LANES;
  c.most = n < QN_BLOCK ? (n + QN_LANES - 1) / QN_LANES : QK_BLOCK_CHAIN;
  c.count = (n - c.first + QN_LANES - 1) / QN_LANES;
  if (whole || c.count > c.most) c.count = c.most;
  return c;
}
/* How many elements its block has. */
QK_UNIT int32_t qk_chain_block(const qk_chain* c, int32_t n) {
  const int32_t left = n - c->block * QN_BLOCK;
  return left < QN_BLOCK ? left : QN_BLOCK;
}

/* What the thread has whose number differs in the bits of `mask`, of those of the same block. */
QK_UNIT void qk_block_swapped(const float* x, int32_t mask, float* y) {
#if defined(__CUDA_ARCH__)
  y[0] = __shfl_xor_sync(0xffffffffu, x[0], mask);
#else
  for (int32_t t = 0; t < QK_THREAD_BLOCK; ++t) y[t] = x[t ^ mask];
#endif
}
/* All threads of a block have what its first one has. */
QK_UNIT void qk_block_first(float* x) {
#if defined(__CUDA_ARCH__)
  x[0] = __shfl_sync(0xffffffffu, x[0], 0, QN_LANES);
#else
  for (int32_t t = 0; t < QK_THREAD_BLOCK; ++t) x[t] = x[t / QN_LANES * QN_LANES];
#endif
}
#define QK_WITH qk_block_fold_sum, QN_JOIN_ADD
#include "kernels/common/block_fold.inc"
#define QK_WITH qk_block_fold_least, qk_block_lesser
#include "kernels/common/block_fold.inc"
#define QK_WITH qk_block_fold_most, qk_block_larger
#include "kernels/common/block_fold.inc"

#define QK_WITH qk_chain_sum, 0.0f, QN_STEP_ADD
#include "kernels/common/block_resident.inc"
#define QK_WITH qk_chain_square, 0.0f, QN_STEP_SQUARE_F32
#include "kernels/common/block_resident.inc"

/* The least and the most of a chain, 0 included; what is NaN does not count. */
QK_UNIT void qk_chain_range(const qk_chain* c, const float* resident, float* least, float* most) {
  float low = 0.0f, high = 0.0f;
  QK_EACH_ON_GPU
  for (int32_t j = 0; j < QK_BLOCK_CHAIN; ++j) {
    if (!qk_chain_has(c, j)) continue;
    low = qk_block_lesser(resident[j], low);
    high = qk_block_larger(resident[j], high);
  }
  *least = low;
  *most = high;
}

/* 16 bytes, aligned, and four words. */
QK_UNIT void qk_load_16(uint32_t* to, const uint8_t* from) {
#if defined(__CUDA_ARCH__)
  const uint4 own = *(const uint4*)from;
  to[0] = own.x, to[1] = own.y, to[2] = own.z, to[3] = own.w;
#else
  memcpy(to, from, 16);
#endif
}
QK_UNIT void qk_store_16(uint8_t* to, const uint32_t* from) {
#if defined(__CUDA_ARCH__)
  *(uint4*)to = make_uint4(from[0], from[1], from[2], from[3]);
#else
  memcpy(to, from, 16);
#endif
}
/* Moves the bytes of a block, 1024 at most, between shared memory and another place; `lane` is the
 * number of one of its threads. 16 bytes at a time where that is aligned. The bits of `flip` are
 * flipped in every byte. */
QK_UNIT void qk_half_move(int32_t lane, uint8_t* to, const uint8_t* from, int32_t bytes,
                          uint32_t flip) {
  const int wide = ((uintptr_t)to | (uintptr_t)from) % 16 == 0;
  const int32_t whole = wide ? bytes / 16 : 0;
  uint32_t words[QK_BLOCK_CHAIN / QN_LANES][4];
  QK_EACH_ON_GPU
  for (int32_t i = 0; i < QK_BLOCK_CHAIN / QN_LANES; ++i) {
    if (i * QN_LANES + lane < whole) qk_load_16(words[i], from + 16 * (i * QN_LANES + lane));
  }
  QK_EACH_ON_GPU
  for (int32_t i = 0; i < QK_BLOCK_CHAIN / QN_LANES; ++i) {
    if (i * QN_LANES + lane >= whole) continue;
    QK_EACH_ON_GPU
    for (int32_t k = 0; k < 4; ++k) words[i][k] ^= flip * 0x01010101u;
    qk_store_16(to + 16 * (i * QN_LANES + lane), words[i]);
  }
  QK_NOT_EACH
  for (int32_t i = 16 * whole + lane; i < bytes; i += QN_LANES) to[i] = (uint8_t)(from[i] ^ flip);
}

#endif
