/* What a block of threads has in shared memory of a head (mma.cu): up to 128 queries, and 128 keys
 * with a part of their values at a time. Codes are signed there: those without a sign are less 128,
 * and so are their zero points. What is not there is 0. */
#ifndef QK_QATTENTION_MMA_STAGE_H
#define QK_QATTENTION_MMA_STAGE_H

#include "kernels/common/warp.h"
#include "kernels/qattention/block_codes.h"
#include "kernels/qattention/seen.h"

#define QK_MMA_QUERIES 128 /* of a unit, 16 for each warp */
#define QK_MMA_KEYS 128    /* at a time */
#define QK_MMA_COLUMNS 128 /* of values at a time */
#define QK_MMA_DEPTH 256   /* at most */
#define QK_MMA_MOST_KEYS 8192
/* From column to column of values: eight of them lie in different banks. */
#define QK_MMA_VALUES (QK_MMA_KEYS + 16)
/* Bytes for the deepest heads and the most keys, as qk_mma_position_of has them. */
#define QK_MMA_MOST_BYTES                                                                  \
  ((QK_MMA_QUERIES + QK_MMA_KEYS) * (QK_MMA_DEPTH + 16) + QK_MMA_COLUMNS * QK_MMA_VALUES + \
   QK_MMA_QUERIES * 4 + QK_MMA_KEYS * 20 + QK_MMA_QUERIES * (QK_MMA_MOST_KEYS / QN_BLOCK) * 4)

/* Where it lies, bytes from the beginning: codes of queries and keys in rows of `row` bytes, those
 * of values in columns; a sum of codes for each query, numbers for each key, sums of blocks of
 * exponentials for each query. */
typedef struct qk_mma_position {
  int32_t row, q, k, v, q_sums, k_sums, k_zeros, v_zeros, k_scales, v_scales, parts, bytes;
} qk_mma_position;

/* Blocks of the sums of a row (kernels/numerics/reduce.h). */
QK_UNIT int32_t qk_mma_blocks(const qk_qattention_params* p) {
  return (p->keys + QN_BLOCK - 1) / QN_BLOCK;
}
/* Tiles of eight columns of values, from column `column` on. */
QK_UNIT int32_t qk_mma_tiles(const qk_qattention_params* p, int32_t column) {
  const int32_t left = p->value_depth - column;
  return ((left < QK_MMA_COLUMNS ? left : QK_MMA_COLUMNS) + 7) / 8;
}
QK_UNIT qk_mma_position qk_mma_position_of(const qk_qattention_params* p) {
  qk_mma_position m;
  m.row = (p->depth + 31) / 32 * 32 + 16; /* eight rows lie in different banks */
  m.q = 0;
  m.k = m.q + QK_MMA_QUERIES * m.row;
  m.v = m.k + QK_MMA_KEYS * m.row;
  m.q_sums = m.v + qk_mma_tiles(p, 0) * 8 * QK_MMA_VALUES;
  m.k_sums = m.q_sums + QK_MMA_QUERIES * 4;
  m.k_zeros = m.k_sums + QK_MMA_KEYS * 4;
  m.v_zeros = m.k_zeros + QK_MMA_KEYS * 4;
  m.k_scales = m.v_zeros + QK_MMA_KEYS * 4;
  m.v_scales = m.k_scales + QK_MMA_KEYS * 4;
  m.parts = m.v_scales + QK_MMA_KEYS * 4;
  m.bytes = m.parts + (qk_mma_blocks(p) > 1 ? QK_MMA_QUERIES * qk_mma_blocks(p) * 4 : 0);
  return m;
}

/* What a unit works on: queries of a head from `query` on; `keep` and `add` are those of the head.
 */
typedef struct qk_mma_head {
  qk_block_codes q, k, v;
  const uint8_t* keep;
  const float* add;
  void* y;
  int64_t y_at;
  int32_t query, zeros; /* whether queries or keys have zero points */
  qk_mma_position at;
  unsigned char* memory;
} qk_mma_head;

QK_UNIT const float* qk_mma_floats(const qk_mma_head* h, int32_t at) {
  return (const float*)(const void*)(h->memory + at);
}
QK_UNIT const int32_t* qk_mma_numbers(const qk_mma_head* h, int32_t at) {
  return (const int32_t*)(const void*)(h->memory + at);
}

/* What codes are less, and their zero points, so that they have a sign. */
QK_UNIT int32_t qk_mma_less(const qk_block_codes* x) { return x->type == QK_U8 ? 128 : 0; }
QK_UNIT int32_t qk_mma_zero(const qk_block_codes* x, int64_t row) {
  return qk_block_zero(x, row) - qk_mma_less(x);
}
QK_UNIT int qk_mma_has_zeros(const qk_block_codes* x) {
  return x->zeros != 0 || x->zero != qk_mma_less(x);
}

/* Four codes, the first `n` of them there. */
QK_UNIT uint32_t qk_mma_word(const uint8_t* from, int32_t n, uint32_t flip) {
  uint32_t w = 0;
  if (n >= 4 && ((uintptr_t)from & 3) == 0) return *(const uint32_t*)(const void*)from ^ flip;
  for (int32_t i = 0; i < 4; ++i) {
    if (i < n) w |= (from[i] ^ (flip & 0xff)) << (8 * i);
  }
  return w;
}
QK_UNIT void qk_mma_stage16(unsigned char* to, const uint8_t* from, int32_t n, uint32_t flip) {
#if defined(__CUDA_ARCH__)
  if (n >= 16 && ((uintptr_t)from & 15) == 0) {
    const uint4 w = *(const uint4*)from;
    *(uint4*)to = make_uint4(w.x ^ flip, w.y ^ flip, w.z ^ flip, w.w ^ flip);
    return;
  }
#endif
  QK_REGISTERS
  for (int32_t i = 0; i < 4; ++i)
    ((uint32_t*)(void*)to)[i] = qk_mma_word(from + 4 * i, n - 4 * i, flip);
}

/* Rows [first, first + 128) of the `rows` of a head, for thread t. */
QK_UNIT void qk_mma_stage_rows(const qk_block_codes* x, int32_t first, int32_t rows, int32_t depth,
                               int32_t t, unsigned char* to, int32_t row) {
  const int32_t vectors = row / 16 - 1;
  const uint32_t flip = x->type == QK_U8 ? 0x80808080u : 0;
  const uint8_t* const from = (const uint8_t*)x->codes + x->at;
  for (int32_t i = t; i < QK_MMA_KEYS * vectors; i += QK_THREAD_BLOCK) {
    const int32_t r = i / vectors, vector = i - r * vectors;
    const int there = first + r < rows;
    qk_mma_stage16(to + r * row + vector * 16,
                   from + (there ? (int64_t)(first + r) * x->row + vector * 16 : 0),
                   there ? depth - vector * 16 : 0, flip);
  }
}

/* The column of values, counted from the first at hand, that tile n has as its column c. A lane has
 * columns 2 q and 2 q + 1 of each tile: where results are codes those of all tiles are neighbours,
 * so that it writes many at once. */
QK_UNIT int32_t qk_mma_column(const qk_qattention_params* p, int32_t tiles, int32_t n, int32_t c) {
  return p->y_type == QK_F32 ? 8 * n + c : c / 2 * 2 * tiles + 2 * n + c % 2;
}
/* Where a column lies among the columns of all tiles. */
QK_UNIT int32_t qk_mma_column_at(const qk_qattention_params* p, int32_t tiles, int32_t column) {
  const int32_t q = column / (2 * tiles), in = column - q * 2 * tiles;
  return p->y_type == QK_F32 ? column : in / 2 * 8 + 2 * q + in % 2;
}

/* Values of keys from `first` on, columns from `column` on, for thread t: a column of values lies
 * in a row of bytes, 32 keys after another in the order in which lanes have their codes: word
 * 4 h + q of them has keys 16 h + 2 q, 16 h + 2 q + 1, 16 h + 8 + 2 q and 16 h + 9 + 2 q. */
QK_UNIT void qk_mma_stage_values(const qk_qattention_params* p, const qk_mma_head* h, int32_t first,
                                 int32_t column, int32_t t) {
  const int32_t tiles = qk_mma_tiles(p, column);
  const uint32_t flip = h->v.type == QK_U8 ? 0x80808080u : 0;
  const uint8_t* const from = (const uint8_t*)h->v.codes + h->v.at;
  for (int32_t i = t; i < (tiles + 1) / 2 * 128; i += QK_THREAD_BLOCK) {
    const int32_t word = (i & 7) + (i >> 5 & 3) * 8, four = ((i >> 3 & 3) + (i >> 7) * 4) * 4;
    const int32_t key = first + (word >> 2) * 16 + (word & 3) * 2;
    const int32_t left = p->value_depth - column - four;
    uint32_t w[4];
    if (four >= tiles * 8) continue;
    QK_REGISTERS
    for (int32_t k = 0; k < 4; ++k) {
      const int32_t own = key + k % 2 + k / 2 * 8;
      const int there = own < p->keys && left > 0;
      w[k] = qk_mma_word(from + (there ? (int64_t)own * h->v.row + column + four : 0),
                         there ? left : 0, flip);
    }
    qk_transpose_bytes(w);
    QK_REGISTERS
    for (int32_t c = 0; c < 4; ++c) {
      const int32_t at = qk_mma_column_at(p, tiles, four + c);
      *(uint32_t*)(void*)(h->memory + h->at.v + at * QK_MMA_VALUES + word * 4) = w[c];
    }
  }
}

/* The sum of the codes of a row. */
QK_UNIT int32_t qk_mma_row_sum(const unsigned char* row, int32_t bytes) {
  int32_t sum = 0;
  for (int32_t i = 0; i < bytes; i += 4) {
#if defined(__CUDA_ARCH__)
    const int32_t codes = *(const int32_t*)(row + i);
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(codes), "r"(0x01010101));
#else
    for (int32_t k = 0; k < 4; ++k) sum += (int8_t)row[i + k];
#endif
  }
  return sum;
}

/* Numbers of keys from `first` on, for thread t. */
QK_UNIT void qk_mma_stage_numbers(const qk_qattention_params* p, const qk_mma_head* h,
                                  int32_t first, int32_t t) {
  const int there = t < QK_MMA_KEYS && first + t < p->keys;
  if (t >= QK_MMA_KEYS) return;
  if (h->k.scales && p->k_rows)
    ((float*)(void*)(h->memory + h->at.k_scales))[t] =
        there ? qk_block_scale(&h->k, first + t) : 0.0f;
  if (h->v.scales && p->v_rows)
    ((float*)(void*)(h->memory + h->at.v_scales))[t] =
        there ? qk_block_scale(&h->v, first + t) : 0.0f;
  if (h->k.zeros)
    ((int32_t*)(void*)(h->memory + h->at.k_zeros))[t] = there ? qk_mma_zero(&h->k, first + t) : 0;
  if (h->v.zeros)
    ((int32_t*)(void*)(h->memory + h->at.v_zeros))[t] = there ? qk_mma_zero(&h->v, first + t) : 0;
}

/* The queries of the unit, and sums of their codes where keys have zero points. All threads have
 * waited for it when keys are there. */
QK_UNIT void qk_mma_stage_queries(const qk_qattention_params* p, const qk_mma_head* h) {
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) {
    qk_mma_stage_rows(&h->q, h->query, p->queries, p->depth, t, h->memory + h->at.q, h->at.row);
  }
}

/* Keys from `first` on with their numbers, or values of them from `column` on, or both. */
QK_UNIT void qk_mma_stage(const qk_qattention_params* p, const qk_mma_head* h, int32_t first,
                          int keys, int values, int32_t column) {
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) {
    if (keys) {
      qk_mma_stage_rows(&h->k, first, p->keys, p->depth, t, h->memory + h->at.k, h->at.row);
      qk_mma_stage_numbers(p, h, first, t);
    }
    if (values) qk_mma_stage_values(p, h, first, column, t);
  }
  QK_BLOCK_SYNC
  if (keys && h->zeros) {
    QK_EACH_THREAD(t) {
      const int of_key = t < QK_MMA_KEYS;
      const int32_t i = of_key ? t : t - QK_MMA_KEYS;
      const int32_t sum =
          qk_mma_row_sum(h->memory + (of_key ? h->at.k : h->at.q) + i * h->at.row, h->at.row - 16);
      ((int32_t*)(void*)(h->memory + (of_key ? h->at.k_sums : h->at.q_sums)))[i] = sum;
    }
    QK_BLOCK_SYNC
  }
}

#endif
