/* A unit is up to 128 queries of a head, which 256 threads compute together, a warp 16 of them, by
 * products on tensor cores (kernels/common/warp.h). Scores stay in registers: a lane has those of
 * two queries and of every fourth pair of keys, which are the lanes of row reductions
 * (kernels/numerics/reduce.h), too. With more than 128 keys they are computed three times: for the
 * maximum, for the sum of exponentials and for the codes of weights. */
#include "kernels/qattention/mma_scores.h"

QK_UNIT int32_t qk_mma_query_tiles(const qk_qattention_params* p) {
  return (p->queries + QK_MMA_QUERIES - 1) / QK_MMA_QUERIES;
}
QK_UNIT int64_t qk_qattention_mma_units(const qk_qattention_params* p) {
  return (int64_t)p->batch * p->heads * qk_mma_query_tiles(p);
}
QK_UNIT int32_t qk_qattention_mma_shared(const qk_qattention_params* p) {
  return qk_mma_position_of(p).bytes;
}

/* Weights of 32 keys as codes, and their sum, times zero points where each key has one. */
QK_UNIT void qk_mma_codes(const qk_mma_head* h, const qk_mma_warp* w, int32_t g, int32_t at,
                          uint32_t (*codes)[QK_WARP_LANES], int32_t (*taken)[QK_WARP_LANES]) {
  QK_REGISTERS
  for (int32_t c = 0; c < 4; ++c) {
    QK_EACH_LANE(i) {
      const int32_t lane = qk_lane(i);
      const int32_t r = c % 2;
      uint32_t word = 0;
      QK_REGISTERS
      for (int32_t k = 0; k < 4; ++k) {
        const int32_t n = c / 2 * 2 + k / 2, own = g * 32 + n * 8 + lane % 4 * 2 + k % 2;
        const float weight = w->s[at][n][r * 2 + k % 2][i];
        const int32_t code = qn_code(qn_mulf(weight, w->largest[r][i]), 0, 0, 255);
        word |= (uint32_t)code << (8 * k);
        if (h->v.zeros) taken[r][i] += code * qk_mma_numbers(h, h->at.v_zeros)[own];
      }
      if (!h->v.zeros && qk_mma_has_zeros(&h->v)) taken[r][i] = qk_bytes_added(word, taken[r][i]);
      codes[c][i] = word;
    }
  }
}

typedef struct qk_mma_results {
  int32_t accumulators[QK_MMA_COLUMNS / 8][4][QK_WARP_LANES];
  int32_t taken[2][QK_WARP_LANES]; /* what zero points take away from the accumulators of a query */
} qk_mma_results;

/* Adds products of the weights of 32 keys with `tiles` tiles of values. */
QK_UNIT void qk_mma_multiply_values(const qk_mma_head* h, const qk_mma_warp* w, int32_t g,
                                    int32_t from, int32_t tiles, qk_mma_results* y) {
  uint32_t codes[4][QK_WARP_LANES];
  qk_mma_codes(h, w, g, from, codes, y->taken);
  QK_REGISTERS
  for (int32_t n = 0; n < QK_MMA_COLUMNS / 8; n += 2) {
    uint32_t b[4][QK_WARP_LANES];
    int32_t at[QK_WARP_LANES];
    if (n >= tiles) continue;
    QK_EACH_LANE(i) {
      const int32_t lane = qk_lane(i), tile = n + (lane >> 4) < tiles ? n + (lane >> 4) : n;
      at[i] = h->at.v + (tile * 8 + (lane & 7)) * QK_MMA_VALUES + g * 32 + (lane >> 3 & 1) * 16;
    }
    qk_warp_load4(b, h->memory, at);
    qk_warp_multiply(y->accumulators[n], codes, &b[0], 1);
    if (n + 1 < tiles) qk_warp_multiply(y->accumulators[n + 1], codes, &b[2], 1);
  }
}

/* What is computed of the keys at hand: the maximum of scores, the sum of exponentials, or, where
 * there is a y, results of the columns from `column` on. */
typedef struct qk_mma_work {
  int32_t first, column;
  int max;
  qk_mma_results* y;
} qk_mma_work;

/* The same of 32 keys, the g-th; their scores are in registers `at`, `again` where not yet. */
QK_UNIT void qk_mma_work_on(const qk_qattention_params* p, const qk_mma_head* h, qk_mma_warp* w,
                            const qk_mma_work* work, int32_t g, int32_t at, int again) {
  const int32_t key = work->first + g * 32;
  if (key >= w->high || key + 32 <= w->low) return; /* no query of the warp sees them */
  if (work->max || again) qk_mma_scores(p, h, w, work->first, g, at);
  if (work->max) {
    qk_mma_find_max(w, at);
  } else {
    if (!work->y || again) qk_mma_weights(p, h, w, work->first, g, at, !work->y);
    if (work->y) qk_mma_multiply_values(h, w, g, at, qk_mma_tiles(p, work->column), work->y);
  }
}
/* Up to 128 keys stay in registers, of more only those that are worked on. */
QK_UNIT void qk_mma_work_on_all(const qk_qattention_params* p, const qk_mma_head* h, qk_mma_warp* w,
                                const qk_mma_work* work) {
  if (p->keys <= QK_MMA_KEYS) {
    QK_REGISTERS
    for (int32_t g = 0; g < 4; ++g) qk_mma_work_on(p, h, w, work, g, g, 0);
  } else {
    QK_NO_REGISTERS
    for (int32_t g = 0; g < 4; ++g) qk_mma_work_on(p, h, w, work, g, 0, 1);
  }
}

QK_UNIT void qk_mma_clear_results(qk_mma_results* y) {
  QK_EACH_LANE(i) {
    QK_REGISTERS
    for (int32_t n = 0; n < QK_MMA_COLUMNS / 8 * 4; ++n) y->accumulators[n / 4][n % 4][i] = 0;
    y->taken[0][i] = y->taken[1][i] = 0;
  }
}

/* What the four lanes of each query take away together. */
QK_UNIT void qk_mma_join_taken(const qk_mma_head* h, qk_mma_results* y) {
  QK_REGISTERS
  for (int32_t r = 0; r < 2; ++r) {
    qk_warp_add_four(y->taken[r]);
    QK_EACH_LANE(i) {
      if (!h->v.zeros) y->taken[r][i] *= qk_mma_zero(&h->v, 0);
    }
  }
}

/* A result of query r: the sum of column c of a tile. */
QK_UNIT float qk_mma_result(const qk_mma_warp* w, const qk_mma_results* y, int32_t n, int32_t c,
                            int32_t i) {
  const uint32_t sum = (uint32_t)y->accumulators[n][c][i] - (uint32_t)y->taken[c / 2][i];
  return qn_mulf((float)(int32_t)sum, w->sum[c / 2][i]);
}
QK_UNIT int32_t qk_mma_result_code(const qk_qattention_params* p, const qk_mma_warp* w,
                                   const qk_mma_results* y, int32_t n, int32_t c, int32_t i) {
  return qn_code(qk_mma_result(w, y, n, c, i), p->y_zero, p->lo, p->hi);
}

/* 16 neighbouring codes: the two columns of eight tiles from n on. */
QK_UNIT void qk_mma_store16_codes(const qk_qattention_params* p, const qk_mma_warp* w,
                                  const qk_mma_results* y, int32_t n, int32_t r, int32_t i,
                                  uint8_t* to) {
  uint32_t words[4];
  QK_REGISTERS
  for (int32_t k = 0; k < 4; ++k) {
    words[k] = 0;
    QK_REGISTERS
    for (int32_t c = 0; c < 4; ++c)
      words[k] |=
          ((uint32_t)qk_mma_result_code(p, w, y, n + 2 * k + c / 2, 2 * r + c % 2, i) & 0xff)
          << (8 * c);
  }
#if defined(__CUDA_ARCH__)
  *(uint4*)to = make_uint4(words[0], words[1], words[2], words[3]);
#else
  memcpy(to, words, 16);
#endif
}

/* Writes results of query r of a lane, columns from `column` on. */
QK_UNIT void qk_mma_store(const qk_qattention_params* p, const qk_mma_head* h, const qk_mma_warp* w,
                          const qk_mma_results* y, int32_t column, int32_t r, int32_t lane,
                          int32_t i) {
  const int32_t tiles = qk_mma_tiles(p, column), there = p->value_depth - column;
  const int64_t to = h->y_at + (int64_t)w->query[r][i] * p->y_at[2] + column;
  uint8_t* const bytes = (uint8_t*)h->y + to + lane % 4 * 2 * tiles;
  const int by_16 = (p->y_type == QK_I8 || p->y_type == QK_U8) && tiles % 8 == 0 &&
                    there >= tiles * 8 && ((uintptr_t)bytes & 15) == 0;
  QK_REGISTERS
  for (int32_t n = 0; n < QK_MMA_COLUMNS / 8; ++n) {
    if (n >= tiles) continue;
    if (by_16) {
      if (n % 8 == 0) qk_mma_store16_codes(p, w, y, n, r, i, bytes + 2 * n);
      continue;
    }
    QK_REGISTERS
    for (int32_t c = 0; c < 2; ++c) {
      const int32_t own = qk_mma_column(p, tiles, n, lane % 4 * 2 + c);
      if (own >= there) continue;
      if (p->y_type == QK_F32) {
        ((float*)h->y)[to + own] = qk_mma_result(w, y, n, 2 * r + c, i);
      } else {
        qk_store_code(h->y, p->y_type, (ptrdiff_t)(to + own),
                      qk_mma_result_code(p, w, y, n, 2 * r + c, i));
      }
    }
  }
}

/* Results of a warp, 128 columns after another. */
QK_UNIT void qk_mma_attend(const qk_qattention_params* p, const qk_mma_head* h, qk_mma_warp* w,
                           int32_t begin, int32_t end) {
  const int once = p->keys <= QK_MMA_KEYS;
  for (int32_t column = 0; column < p->value_depth; column += QK_MMA_COLUMNS) {
    qk_mma_results y;
    qk_mma_clear_results(&y);
    for (int32_t first = begin; first < end; first += QK_MMA_KEYS) {
      if (!once || column > 0) qk_mma_stage(p, h, first, !once, 1, column);
      const qk_mma_work results = {first, column, 0, &y};
      qk_mma_work_on_all(p, h, w, &results);
    }
    if (qk_mma_has_zeros(&h->v)) qk_mma_join_taken(h, &y);
    QK_REGISTERS
    for (int32_t r = 0; r < 2; ++r) {
      QK_EACH_LANE(i) {
        const int32_t lane = qk_lane(i);
        if (w->query[r][i] < p->queries) qk_mma_store(p, h, w, &y, column, r, lane, i);
      }
    }
  }
}

/* The queries of a warp; those of other warps see further keys, for which all threads copy. */
QK_UNIT void qk_mma_queries(const qk_qattention_params* p, const qk_mma_head* h, int32_t warp) {
  const int32_t last =
      p->queries - h->query < QK_MMA_QUERIES ? p->queries - 1 : h->query + QK_MMA_QUERIES - 1;
  const int once = p->keys <= QK_MMA_KEYS;
  const int32_t begin = qk_keys_seen(p, h->query).first / QK_MMA_KEYS * QK_MMA_KEYS;
  const int32_t end = qk_keys_seen(p, last).end;
  qk_mma_warp w;
  qk_mma_warp_of(p, h, warp, &w);
  qk_mma_stage_queries(p, h);
  qk_mma_clear_parts(p, h, &w);
  for (int32_t first = begin; first < end; first += QK_MMA_KEYS) {
    qk_mma_stage(p, h, first, 1, once, 0);
    const qk_mma_work max = {first, 0, 1, 0};
    qk_mma_work_on_all(p, h, &w, &max);
  }
  qk_mma_join_max(w.max);
  for (int32_t first = begin; first < end; first += QK_MMA_KEYS) {
    const int32_t next = first + QK_MMA_KEYS;
    if (!once) qk_mma_stage(p, h, first, 1, 0, 0);
    const qk_mma_work totals = {first, 0, 0, 0};
    qk_mma_work_on_all(p, h, &w, &totals);
    if (next % QN_BLOCK == 0 || next >= end) qk_mma_fold(p, h, &w, first / QN_BLOCK);
  }
  qk_mma_join_max(w.largest);
  qk_mma_join_parts(p, h, &w);
  qk_mma_known(p, h, &w);
  qk_mma_attend(p, h, &w, begin, end);
}

QK_UNIT void qk_qattention_mma(const qk_qattention_params* p, int64_t unit, const void* q,
                               const void* k, const void* v, const void* keep, const void* add,
                               const void* q_scales, const void* q_zeros, const void* k_scales,
                               const void* k_zeros, const void* v_scales, const void* v_zeros,
                               void* y) {
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ < 800 && !defined(QK_FAT)
#error "this code is for GPUs from sm_80 on: quantc compile --target cuda is for older ones"
#endif
  extern __shared__ __align__(128) unsigned char qk_mma_memory[];
#else
  uint64_t qk_mma_memory[QK_MMA_MOST_BYTES / 8 + 1];
#endif
  const int32_t tiles = qk_mma_query_tiles(p), tile = (int32_t)(unit % tiles);
  const int32_t head = (int32_t)(unit / tiles % p->heads), b = (int32_t)(unit / tiles / p->heads);
  const int32_t kv = head / (p->heads / p->kv_heads);
  const int64_t mask = (int64_t)b * p->mask[0] + (int64_t)head * p->mask[1];
  const qk_block_codes qc = QK_BLOCK_CODES(p, q, q_scales, q_zeros, b, head);
  const qk_block_codes kc = QK_BLOCK_CODES(p, k, k_scales, k_zeros, b, kv);
  const qk_block_codes vc = QK_BLOCK_CODES(p, v, v_scales, v_zeros, b, kv);
  const qk_mma_head h = {qc,
                         kc,
                         vc,
                         keep ? (const uint8_t*)keep + mask : 0,
                         add ? (const float*)add + mask : 0,
                         y,
                         qk_head_at(p->y_at, b, head),
                         tile * QK_MMA_QUERIES,
                         qk_mma_has_zeros(&qc) || qk_mma_has_zeros(&kc),
                         qk_mma_position_of(p),
                         (unsigned char*)qk_mma_memory};
  QK_EACH_WARP(warp) { qk_mma_queries(p, &h, warp); }
}
