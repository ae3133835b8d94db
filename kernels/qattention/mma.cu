/* A unit is up to 128 queries of a head, which 256 threads compute together, a warp 16 of them, by
 * products on tensor cores (kernels/common/warp.h). Scores stay in registers: a lane has those of
 * two queries and of every fourth pair of keys, which are the lanes of row reductions
 * (kernels/numerics/reduce.h), too. With more than 128 keys they are computed three times: for the
 * maximum, for the sum of exponentials and for the codes of weights. */
#include "kernels/numerics/scalar_ops.h"
#include "kernels/qattention/mma_stage.h"

QK_UNIT int32_t qk_mma_query_tiles(const qk_qattention_params* p) {
  return (p->queries + QK_MMA_QUERIES - 1) / QK_MMA_QUERIES;
}
QK_UNIT int64_t qk_qattention_mma_units(const qk_qattention_params* p) {
  return (int64_t)p->batch * p->heads * qk_mma_query_tiles(p);
}
QK_UNIT int32_t qk_qattention_mma_shared(const qk_qattention_params* p) {
  return qk_mma_place_of(p).bytes;
}

/* What the lanes of a warp have. Scores, later weights, are [32 keys][tile of eight][..]: of a
 * tile, lane 4 g + q has keys 2 q and 2 q + 1 of query g, then those of query g + 8. All others are
 * of these two queries. */
typedef struct qk_mma_warp {
  float s[4][4][4][QK_WARP_LANES];
  float lanes[2][4][QK_WARP_LANES]; /* of the sum: 2 q, 2 q + 1, 2 q + 8, 2 q + 9 */
  float max[2][QK_WARP_LANES], sum[2][QK_WARP_LANES], largest[2][QK_WARP_LANES];
  float by[2][QK_WARP_LANES]; /* what sums of products are multiplied with */
  int32_t query[2][QK_WARP_LANES], first[2][QK_WARP_LANES], end[2][QK_WARP_LANES];
  int32_t zero[2][QK_WARP_LANES]; /* of the query's codes */
  int32_t warp, low, high;        /* the keys that any of its queries sees */
} qk_mma_warp;

QK_UNIT void qk_mma_warp_of(const qk_qattention_params* p, const qk_mma_head* h, int32_t warp,
                            qk_mma_warp* w) {
  const int32_t top = h->query + warp * 16, last = p->queries - 1;
  w->warp = warp;
  w->low = qk_keys_seen(p, top < last ? top : last).first;
  w->high = top > last ? 0 : qk_keys_seen(p, top + 15 < last ? top + 15 : last).end;
  QK_REGISTERS
  for (int32_t r = 0; r < 2; ++r) {
    QK_EACH_LANE(i) {
      const int32_t lane = qk_lane(i);
      const int32_t query = top + lane / 4 + 8 * r, own = query < last ? query : last;
      const qk_seen see = qk_keys_seen(p, own);
      const float by = qn_mulf(qk_team_scale(&h->q, own), p->scale);
      w->query[r][i] = query;
      w->first[r][i] = see.first;
      w->end[r][i] = see.end;
      w->zero[r][i] = qk_mma_zero(&h->q, own);
      w->by[r][i] = h->k.scales && p->k_rows ? by : qn_mulf(by, qk_team_scale(&h->k, 0));
      w->max[r][i] = -QN_INF_F32;
      w->sum[r][i] = 0.0f;
      w->largest[r][i] = -QN_INF_F32;
      QK_REGISTERS
      for (int32_t l = 0; l < 4; ++l) w->lanes[r][l][i] = 0.0f;
    }
  }
}

/* The score of a key, the `own`th of those at hand, of query r of a lane. */
QK_UNIT float qk_mma_score(const qk_qattention_params* p, const qk_mma_head* h,
                           const qk_mma_warp* w, int32_t r, int32_t i, int32_t key, int32_t own,
                           int32_t sum) {
  const int32_t query = w->query[r][i] < p->queries ? w->query[r][i] : p->queries - 1;
  const int64_t mask = (int64_t)query * p->mask[2] + (p->mask[3] == 1 ? key : 0);
  float by = w->by[r][i], s;
  if (key < w->first[r][i] || key >= w->end[r][i]) return -QN_INF_F32;
  if (h->k.scales && p->k_rows) by = qn_mulf(by, qk_mma_floats(h, h->at.k_scales)[own]);
  s = qn_mulf((float)sum, by);
  if (p->softcap > 0.0f) s = qn_mulf(qn_tanh_f32(s / p->softcap), p->softcap);
  if (h->keep && !h->keep[mask]) s = -QN_INF_F32;
  return h->add ? s + h->add[mask] : s;
}

/* What sums of products of codes of 32 keys, the g-th of those at hand, begin with: what zero
 * points of queries and keys take away from them. */
QK_UNIT void qk_mma_begin(const qk_qattention_params* p, const qk_mma_head* h, const qk_mma_warp* w,
                          int32_t g, int32_t (*sums)[4][QK_WARP_LANES]) {
  QK_REGISTERS
  for (int32_t n = 0; n < 4; ++n) {
    QK_REGISTERS
    for (int32_t c = 0; c < 4; ++c) {
      QK_EACH_LANE(i) {
        const int32_t lane = qk_lane(i), own = g * 32 + n * 8 + lane % 4 * 2 + c % 2;
        uint32_t begin = 0;
        if (h->zeros) {
          const int32_t query = w->warp * 16 + lane / 4 + c / 2 * 8;
          const uint32_t zq = (uint32_t)w->zero[c / 2][i];
          const int32_t zk =
              h->k.zeros ? qk_mma_numbers(h, h->at.k_zeros)[own] : qk_mma_zero(&h->k, 0);
          const uint32_t codes = (uint32_t)qk_mma_numbers(h, h->at.q_sums)[query];
          begin -= (uint32_t)zk * (codes - (uint32_t)p->depth * zq);
          begin -= zq * (uint32_t)qk_mma_numbers(h, h->at.k_sums)[own];
        }
        sums[n][c][i] = (int32_t)begin;
      }
    }
  }
}

/* The scores of 32 keys, the g-th of those at hand, which begin at `first`; `to` is where they are
 * in registers. */
QK_UNIT void qk_mma_scores(const qk_qattention_params* p, const qk_mma_head* h, qk_mma_warp* w,
                           int32_t first, int32_t g, int32_t to) {
  int32_t sums[4][4][QK_WARP_LANES];
  qk_mma_begin(p, h, w, g, sums);
  for (int32_t d = 0; d < h->at.row - 16; d += 32) {
    uint32_t a[4][QK_WARP_LANES], b[2][4][QK_WARP_LANES];
    int32_t at[3][QK_WARP_LANES];
    QK_EACH_LANE(i) {
      const int32_t lane = qk_lane(i);
      const int32_t key = g * 32 + (lane & 7) + ((lane >> 4) << 3);
      at[0][i] = h->at.q + (w->warp * 16 + (lane & 15)) * h->at.row + d + (lane >> 4) * 16;
      at[1][i] = h->at.k + key * h->at.row + d + ((lane >> 3) & 1) * 16;
      at[2][i] = at[1][i] + 16 * h->at.row;
    }
    qk_warp_load4(a, h->memory, at[0]);
    qk_warp_load4(b[0], h->memory, at[1]);
    qk_warp_load4(b[1], h->memory, at[2]);
    QK_REGISTERS
    for (int32_t n = 0; n < 4; ++n) qk_warp_multiply(sums[n], a, &b[n / 2][n % 2 * 2], 0);
  }
  QK_REGISTERS
  for (int32_t n = 0; n < 4; ++n) {
    QK_REGISTERS
    for (int32_t c = 0; c < 4; ++c) {
      QK_EACH_LANE(i) {
        const int32_t lane = qk_lane(i);
        const int32_t own = g * 32 + n * 8 + lane % 4 * 2 + c % 2;
        w->s[to][n][c][i] = qk_mma_score(p, h, w, c / 2, i, first + own, own, sums[n][c][i]);
      }
    }
  }
}

QK_UNIT void qk_mma_find_max(qk_mma_warp* w, int32_t at) {
  QK_REGISTERS
  for (int32_t n = 0; n < 16; ++n) {
    QK_EACH_LANE(i) {
      float* const max = &w->max[n % 4 / 2][i];
      *max = qn_max_f32(*max, w->s[at][n / 4][n % 4][i]);
    }
  }
}

/* Weights of scores; with `add` their exponentials are added up, and the largest weight found. */
QK_UNIT void qk_mma_weights(const qk_qattention_params* p, const qk_mma_head* h, qk_mma_warp* w,
                            int32_t first, int32_t g, int32_t at, int add) {
  QK_REGISTERS
  for (int32_t n = 0; n < 4; ++n) {
    QK_REGISTERS
    for (int32_t c = 0; c < 4; ++c) {
      QK_EACH_LANE(i) {
        const int32_t r = c / 2, own = g * 32 + n * 8 + qk_lane(i) % 4 * 2 + c % 2;
        const int seen = first + own >= w->first[r][i] && first + own < w->end[r][i];
        const float max = w->max[r][i];
        float e = seen && max != -QN_INF_F32 ? qn_exp_f32(w->s[at][n][c][i] - max) : 0.0f;
        if (add) w->lanes[r][n % 2 * 2 + c % 2][i] += e;
        if (h->v.scales && p->v_rows) {
          e = qn_mulf(e, qk_mma_floats(h, h->at.v_scales)[own]);
          if (add && seen) w->largest[r][i] = qn_max_f32(w->largest[r][i], e);
        }
        w->s[at][n][c][i] = e;
      }
    }
  }
}

/* The greatest of what the four lanes of each query have. */
QK_UNIT void qk_mma_join_max(float (*x)[QK_WARP_LANES]) {
  QK_REGISTERS
  for (int32_t r = 0; r < 2; ++r) {
    QK_REGISTERS
    for (int32_t mask = 1; mask < 4; mask *= 2) {
      float other[QK_WARP_LANES];
      qk_warp_swapped(x[r], mask, other);
      QK_EACH_LANE(i) { x[r][i] = qn_max_f32(x[r][i], other[i]); }
    }
  }
}

/* The lanes of a block become its sum, the part `block` of the row's; then they are 0. */
QK_UNIT void qk_mma_fold(const qk_qattention_params* p, const qk_mma_head* h, qk_mma_warp* w,
                         int32_t block) {
  QK_REGISTERS
  for (int32_t r = 0; r < 2; ++r) {
    float low[2][QK_WARP_LANES], other[2][QK_WARP_LANES];
    QK_EACH_LANE(i) {
      low[0][i] = w->lanes[r][0][i] + w->lanes[r][2][i];
      low[1][i] = w->lanes[r][1][i] + w->lanes[r][3][i];
      QK_REGISTERS
      for (int32_t l = 0; l < 4; ++l) w->lanes[r][l][i] = 0.0f;
    }
    QK_REGISTERS
    for (int32_t mask = 2; mask > 0; mask /= 2) {
      qk_warp_swapped(low[0], mask, other[0]);
      qk_warp_swapped(low[1], mask, other[1]);
      QK_EACH_LANE(i) {
        low[0][i] += other[0][i];
        low[1][i] += other[1][i];
      }
    }
    QK_EACH_LANE(i) {
      const int32_t lane = qk_lane(i);
      w->sum[r][i] = low[0][i] + low[1][i];
      if (qk_mma_blocks(p) > 1 && lane % 4 == 0)
        ((float*)(void*)(h->memory +
                         h->at.parts))[(w->query[r][i] - h->query) * qk_mma_blocks(p) + block] =
            w->sum[r][i];
    }
  }
}

/* Sums of a row from those of its blocks; those that nobody made are 0. */
QK_UNIT void qk_mma_clear_parts(const qk_qattention_params* p, const qk_mma_head* h,
                                const qk_mma_warp* w) {
  const int32_t blocks = qk_mma_blocks(p);
  float* const parts = (float*)(void*)(h->memory + h->at.parts) + w->warp * 16 * blocks;
  if (blocks == 1) return;
  QK_EACH_LANE(i) {
    const int32_t lane = qk_lane(i);
    for (int32_t at = lane; at < 16 * blocks; at += 32) parts[at] = 0.0f;
  }
  QK_WARP_WAIT
}
QK_UNIT void qk_mma_join_parts(const qk_qattention_params* p, const qk_mma_head* h,
                               qk_mma_warp* w) {
  const int32_t blocks = qk_mma_blocks(p);
  float* const parts = (float*)(void*)(h->memory + h->at.parts) + w->warp * 16 * blocks;
  if (blocks == 1) return;
  QK_WARP_WAIT
  QK_EACH_LANE(i) {
    const int32_t lane = qk_lane(i);
    for (int32_t step = 1; lane < 16 && step < blocks; step *= 2) {
      for (int32_t b = 0; b + step < blocks; b += 2 * step)
        parts[lane * blocks + b] += parts[lane * blocks + b + step];
    }
  }
  QK_WARP_WAIT
  QK_EACH_LANE(i) {
    const int32_t lane = qk_lane(i);
    w->sum[0][i] = parts[lane / 4 * blocks];
    w->sum[1][i] = parts[(lane / 4 + 8) * blocks];
  }
}

/* Once the maximum, the sum and the largest weight are known: the sum becomes what sums of codes
 * are multiplied with, the largest weight the steps of codes. */
QK_UNIT void qk_mma_known(const qk_qattention_params* p, const qk_mma_head* h, qk_mma_warp* w) {
  const int by_row = h->v.scales && p->v_rows;
  QK_REGISTERS
  for (int32_t r = 0; r < 2; ++r) {
    QK_EACH_LANE(i) {
      const int blind = w->max[r][i] == -QN_INF_F32;
      const float largest = by_row && !blind ? w->largest[r][i] : 1.0f;
      float by = (largest / 255.0f) / w->sum[r][i];
      if (blind) by = p->nan_rows ? QN_INF_F32 - QN_INF_F32 : 1.0f;
      if (!by_row) by = qn_mulf(by, qk_team_scale(&h->v, 0));
      w->sum[r][i] = p->y_type == QK_F32 ? by : by / p->y_scale;
      w->largest[r][i] = 255.0f / largest;
    }
  }
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
  int32_t sums[QK_MMA_COLUMNS / 8][4][QK_WARP_LANES];
  int32_t taken[2][QK_WARP_LANES]; /* what zero points take away from the sums of a query */
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
    qk_warp_multiply(y->sums[n], codes, &b[0], 1);
    if (n + 1 < tiles) qk_warp_multiply(y->sums[n + 1], codes, &b[2], 1);
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
    for (int32_t n = 0; n < QK_MMA_COLUMNS / 8 * 4; ++n) y->sums[n / 4][n % 4][i] = 0;
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
  const uint32_t sum = (uint32_t)y->sums[n][c][i] - (uint32_t)y->taken[c / 2][i];
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
    const qk_mma_work sums = {first, 0, 0, 0};
    qk_mma_work_on_all(p, h, &w, &sums);
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
  const qk_team_codes qc = QK_TEAM_CODES(p, q, q_scales, q_zeros, b, head);
  const qk_team_codes kc = QK_TEAM_CODES(p, k, k_scales, k_zeros, b, kv);
  const qk_team_codes vc = QK_TEAM_CODES(p, v, v_scales, v_zeros, b, kv);
  const qk_mma_head h = {qc,
                         kc,
                         vc,
                         keep ? (const uint8_t*)keep + mask : 0,
                         add ? (const float*)add + mask : 0,
                         y,
                         qk_head_at(p->y_at, b, head),
                         tile * QK_MMA_QUERIES,
                         qk_mma_has_zeros(&qc) || qk_mma_has_zeros(&kc),
                         qk_mma_place_of(p),
                         (unsigned char*)qk_mma_memory};
  QK_EACH_WARP(warp) { qk_mma_queries(p, &h, warp); }
}
