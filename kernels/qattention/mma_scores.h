/* Scores of a warp's 16 queries and what becomes of them (mma.cu), in registers. */
#ifndef QK_QATTENTION_MMA_SCORES_H
#define QK_QATTENTION_MMA_SCORES_H

#include "kernels/numerics/scalar_ops.h"
#include "kernels/qattention/mma_stage.h"

/* What the lanes of a warp have. Scores, later weights, are [32 keys][tile of eight][..]: of a
 * tile, lane 4 g + q has keys 2 q and 2 q + 1 of query g, then those of query g + 8. All others are
 * of these two queries. */
typedef struct qk_mma_warp {
  float s[4][4][4][QK_WARP_LANES];
  float lanes[2][4][QK_WARP_LANES]; /* of the sum: 2 q, 2 q + 1, 2 q + 8, 2 q + 9 */
  float max[2][QK_WARP_LANES], sum[2][QK_WARP_LANES], largest[2][QK_WARP_LANES];
  float by[2][QK_WARP_LANES]; /* what accumulators of products are multiplied with */
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
      const float by = qn_mulf(qk_block_scale(&h->q, own), p->scale);
      w->query[r][i] = query;
      w->first[r][i] = see.first;
      w->end[r][i] = see.end;
      w->zero[r][i] = qk_mma_zero(&h->q, own);
      w->by[r][i] = h->k.scales && p->k_rows ? by : qn_mulf(by, qk_block_scale(&h->k, 0));
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

/* What accumulators of products of codes of 32 keys, the g-th of those at hand, begin with: what
 * zero points of queries and keys take away from them. */
QK_UNIT void qk_mma_begin(const qk_qattention_params* p, const qk_mma_head* h, const qk_mma_warp* w,
                          int32_t g, int32_t (*accumulators)[4][QK_WARP_LANES]) {
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
        accumulators[n][c][i] = (int32_t)begin;
      }
    }
  }
}

/* The scores of 32 keys, the g-th of those at hand, which begin at `first`; `to` is where they are
 * in registers. */
QK_UNIT void qk_mma_scores(const qk_qattention_params* p, const qk_mma_head* h, qk_mma_warp* w,
                           int32_t first, int32_t g, int32_t to) {
  int32_t accumulators[4][4][QK_WARP_LANES];
  qk_mma_begin(p, h, w, g, accumulators);
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
    for (int32_t n = 0; n < 4; ++n) qk_warp_multiply(accumulators[n], a, &b[n / 2][n % 2 * 2], 0);
  }
  QK_REGISTERS
  for (int32_t n = 0; n < 4; ++n) {
    QK_REGISTERS
    for (int32_t c = 0; c < 4; ++c) {
      QK_EACH_LANE(i) {
        const int32_t lane = qk_lane(i);
        const int32_t own = g * 32 + n * 8 + lane % 4 * 2 + c % 2;
        w->s[to][n][c][i] =
            qk_mma_score(p, h, w, c / 2, i, first + own, own, accumulators[n][c][i]);
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

/* Accumulators of a row from those of its blocks; those that nobody made are 0. */
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
      if (!by_row) by = qn_mulf(by, qk_block_scale(&h->v, 0));
      w->sum[r][i] = p->y_type == QK_F32 ? by : by / p->y_scale;
      w->largest[r][i] = 255.0f / largest;
    }
  }
}

#endif
