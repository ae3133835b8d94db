/* Attention's products of codes as they are, four at a time, on processors that multiply unsigned
 * bytes with signed ones. Queries and weights are stored unsigned, keys and values signed, which
 * shifts a code and its zero point alike. Accumulators are those of kernels/qattention/product.h:
 *
 *   sum of (q - zq)(k - zk) = sum of q k  +  (-zq) (sum of k)  +  (n zq - sum of q) zk
 *   sum of c (v - zv)       = sum of c v  -  sum of c zv
 *
 * What is added to the sum of q k is one product of pairs of 16 bits, for up to 128 codes a row. */
#ifndef QK_QATTENTION_BYTES_H
#define QK_QATTENTION_BYTES_H

#include "kernels/common/codes.h"
#include "kernels/qattention/product.h"
#include "kernels/qattention/qattention.h"
#include "kernels/qattention/rows.h"
#include "kernels/qattention/weights.h"

/* Panels lie as [columns / 16][quads of k][16][4]. */
typedef struct qk_attended_bytes {
  int8_t *k, *v;            /* panels */
  int16_t *k_more, *q_more; /* pairs that are multiplied with each other, of a key and of a query */
  int8_t* v_zeros;          /* of keys */
  uint8_t *q, *codes;       /* queries and their weights */
  int32_t* start;           /* of accumulators, of a query */
} qk_attended_bytes;

QK_INLINE qk_attended_bytes qk_bytes_positions(const qk_qattention_params* p, void* scratch) {
  const ptrdiff_t n = (p->keys + 15) / 16 * 16, d = (p->depth + 3) / 4 * 4;
  const ptrdiff_t wide = (p->value_depth + 15) / 16 * 16, keys = (p->keys + 3) / 4 * 4;
  uint8_t* at = (uint8_t*)scratch;
  qk_attended_bytes b;
  b.k = (int8_t*)at, at += n * d;
  b.v = (int8_t*)at, at += wide * keys;
  b.k_more = (int16_t*)(void*)at, at += 4 * n;
  b.q_more = (int16_t*)(void*)at, at += 4 * p->rows;
  b.start = (int32_t*)(void*)at, at += 4 * p->rows;
  b.v_zeros = (int8_t*)at, at += n;
  b.q = at, at += p->rows * d;
  b.codes = at;
  return b;
}

QK_INLINE qk_acc qk_bytes_start(const qk_codes_product* t, int32_t row, int32_t p) {
  qk_acc s = qk_acc_set(t->start[row]);
  if (t->w_more) qk_acc_dot(&s, qk_panel_load(t->w_more + 32 * p), t->x_more + 2 * row);
  return s;
}
QK_INLINE void qk_bytes_dot(qk_acc* acc, qk_pairs w, const uint8_t* x) {
  int32_t quad;
  memcpy(&quad, x, 4);
  *acc = _mm512_dpbusd_epi32(*acc, _mm512_set1_epi32(quad), w);
}

#define QK_WITH qk_bytes_tile_1x1, 1, 1, uint8_t, int8_t, 4, qk_bytes_dot, qk_bytes_start
#include "kernels/qattention/tile.inc"
#define QK_WITH qk_bytes_tile_1x2, 1, 2, uint8_t, int8_t, 4, qk_bytes_dot, qk_bytes_start
#include "kernels/qattention/tile.inc"
#define QK_WITH qk_bytes_tile_8x1, 8, 1, uint8_t, int8_t, 4, qk_bytes_dot, qk_bytes_start
#include "kernels/qattention/tile.inc"
#define QK_WITH qk_bytes_tile_8x2, 8, 2, uint8_t, int8_t, 4, qk_bytes_dot, qk_bytes_start
#include "kernels/qattention/tile.inc"

/* `rows` rows by panels [first, last). */
QK_INLINE void qk_bytes_multiply(const qk_codes_product* t, const uint8_t* x, const int8_t* panels,
                                 float* y, int32_t rows, int32_t first, int32_t last) {
  for (int32_t p = first; p < last;) {
    const int8_t* w = panels + p * t->panel;
    int32_t m = 0;
    if (p + 2 <= last) {
      for (; m + 8 <= rows; m += 8) qk_bytes_tile_8x2(t, m, x, w, p, y);
      for (; m < rows; ++m) qk_bytes_tile_1x2(t, m, x, w, p, y);
      p += 2;
    } else {
      for (; m + 8 <= rows; m += 8) qk_bytes_tile_8x1(t, m, x, w, p, y);
      for (; m < rows; ++m) qk_bytes_tile_1x1(t, m, x, w, p, y);
      ++p;
    }
  }
}

/* Rows of n codes each as columns of panels, stored signed; what fills them up is 0. */
QK_SHARED void qk_bytes_keys(const uint8_t* x, const qk_code_rows* z, int32_t rows, int32_t n,
                             const qk_attended_bytes* b) {
  const int32_t quads = (n + 3) / 4, shift = z->type == QK_U8 ? 128 : 0;
  const uint32_t flip = shift ? 0x80808080u : 0;
  int8_t* y = b->k;
  int16_t* more = b->k_more;
  int32_t lanes[16];
  for (int32_t panel = 0; panel < rows; panel += 16, y += 64 * quads, more += 32) {
    __m512i accumulators = _mm512_setzero_si512();
    for (int32_t j = 0; j < 16; ++j) {
      const uint8_t* from = x + (panel + j) * z->row;
      const int there = panel + j < rows;
      for (int32_t i = 0; i < n / 4; ++i) {
        uint32_t quad = flip;
        if (there) memcpy(&quad, from + 4 * i, 4);
        quad ^= flip;
        memcpy(y + 64 * i + 4 * j, &quad, 4);
      }
      if (n % 4 != 0) {
        uint32_t quad = 0;
        for (int32_t i = n - n % 4; there && i < n; ++i) {
          quad |= (uint32_t)(uint8_t)(from[i] ^ flip) << (8 * (i % 4));
        }
        memcpy(y + 64 * (quads - 1) + 4 * j, &quad, 4);
      }
      more[2 * j + 1] = (int16_t)(there ? qk_row_zero(z, panel + j) - shift : 0);
    }
    for (int32_t i = 0; i < quads; ++i) {
      accumulators =
          _mm512_dpbusd_epi32(accumulators, _mm512_set1_epi8(1), qk_panel_load(y + 64 * i));
    }
    qk_acc_store(lanes, accumulators);
    for (int32_t j = 0; j < 16; ++j) more[2 * j] = (int16_t)lanes[j];
  }
}

/* Codes in panels of their columns, four rows side by side, stored signed. */
QK_SHARED void qk_bytes_values(const uint8_t* x, const qk_code_rows* z, int32_t rows, int32_t n,
                               const qk_attended_bytes* b) {
  const int32_t shift = z->type == QK_U8 ? 128 : 0;
  const __m128i flip = _mm_set1_epi8((char)(shift ? -128 : 0));
  int8_t* y = b->v;
  for (int32_t panel = 0; panel < n; panel += 16) {
    const __mmask16 there = qk_row_there(n - panel);
    for (int32_t i = 0; i < rows; i += 4, y += 64) {
      __m128i v[4];
      QK_UNROLL for (int r = 0; r < 4; ++r) {
        const __mmask16 lanes = i + r < rows ? there : 0;
        v[r] = _mm_xor_si128(_mm_maskz_loadu_epi8(lanes, x + (i + r) * z->row + panel), flip);
      }
      const __m128i low = _mm_unpacklo_epi8(v[0], v[1]), low2 = _mm_unpacklo_epi8(v[2], v[3]);
      const __m128i high = _mm_unpackhi_epi8(v[0], v[1]), high2 = _mm_unpackhi_epi8(v[2], v[3]);
      __m128i* to = (__m128i*)(void*)y;
      _mm_storeu_si128(to, _mm_unpacklo_epi16(low, low2));
      _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low, low2));
      _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high, high2));
      _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high, high2));
    }
  }
  for (int32_t i = 0; i < (rows + 15) / 16 * 16; ++i) {
    b->v_zeros[i] = (int8_t)(i < rows ? qk_row_zero(z, i) - shift : 0);
  }
}

/* Query r of those that are worked on together, stored unsigned. */
QK_INLINE void qk_bytes_query(const uint8_t* x, int32_t type, int32_t n, int32_t zero, int32_t r,
                              const qk_attended_bytes* b) {
  const int32_t shift = type == QK_I8 ? 128 : 0, d = (n + 3) / 4 * 4;
  const __m512i flip = _mm512_set1_epi8((char)(shift ? -128 : 0)), one = _mm512_set1_epi8(1);
  __m512i accumulators = _mm512_setzero_si512();
  for (int32_t i = 0; i < n; i += 64) {
    const __mmask64 there = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
    const __mmask64 room = d - i < 64 ? ((__mmask64)1 << (d - i)) - 1 : ~(__mmask64)0;
    const __m512i codes =
        _mm512_maskz_mov_epi8(there, _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, x + i), flip));
    _mm512_mask_storeu_epi8(b->q + (ptrdiff_t)r * d + i, room, codes);
    accumulators = _mm512_dpbusd_epi32(accumulators, codes, one);
  }
  b->start[r] = 0;
  b->q_more[2 * r] = (int16_t) - (zero + shift);
  b->q_more[2 * r + 1] = (int16_t)(n * (zero + shift) - _mm512_reduce_add_epi32(accumulators));
}

/* What sums of weights of query r begin with: the codes of keys [from, to) times their zero points.
 */
QK_INLINE void qk_bytes_weights(int32_t from, int32_t to, const uint8_t* codes, int32_t r,
                                const qk_attended_bytes* b) {
  __m512i accumulators = _mm512_setzero_si512();
  for (int32_t i = from; i < to; i += 64) {
    const __mmask64 there = to - i < 64 ? ((__mmask64)1 << (to - i)) - 1 : ~(__mmask64)0;
    accumulators = _mm512_dpbusd_epi32(accumulators, _mm512_maskz_loadu_epi8(there, codes + i),
                                       _mm512_maskz_loadu_epi8(there, b->v_zeros + i));
  }
  b->start[r] = -_mm512_reduce_add_epi32(accumulators);
}

/* Keys and values of a head as panels. */
QK_INLINE void qk_bytes_fill(const qk_qattention_params* p, const uint8_t* k,
                             const qk_code_rows* zk, const uint8_t* v, const qk_code_rows* zv,
                             const qk_attended_bytes* b) {
  qk_bytes_keys(k, zk, p->keys, p->depth, b);
  qk_bytes_values(v, zv, p->keys, p->value_depth, b);
}

/* Scores of queries [i, i + rows) by panels of keys [first, last); q points to the first query. */
QK_INLINE void qk_bytes_scores(const qk_qattention_params* p, const qk_head* t,
                               const qk_attended_bytes* b, int32_t i, int32_t rows, const void* q,
                               int32_t first, int32_t last) {
  const int32_t quads = (p->depth + 3) / 4, n = (p->keys + 15) / 16 * 16;
  const qk_codes_product scores = {quads,    4 * quads, (ptrdiff_t)64 * quads,
                                   n,        t->by,     t->k_scales,
                                   b->start, b->q_more, b->k_more};
  for (int32_t r = 0; r < rows; ++r) {
    qk_bytes_query((const uint8_t*)q + (i + r) * t->q.row, p->q_type, p->depth,
                   qk_row_zero(&t->q, i + r), r, b);
  }
  qk_bytes_multiply(&scores, b->q, b->k, t->scores, rows, first, last);
}

/* Accumulators of values by codes of weights of keys [from, to), times t->by. */
QK_INLINE void qk_bytes_results(const qk_qattention_params* p, const qk_head* t,
                                const qk_attended_bytes* b, int32_t rows, int32_t from,
                                int32_t to) {
  const int32_t n = (p->keys + 15) / 16 * 16, wide = (p->value_depth + 15) / 16;
  const int32_t keys = to > from ? to - from : 0;
  const qk_codes_product results = {
      keys / 4, n, (ptrdiff_t)(p->keys + 3) / 4 * 64, (ptrdiff_t)16 * wide, t->by, 0, b->start,
      0,        0};
  for (int32_t r = 0; r < rows; ++r) {
    qk_bytes_weights(from, to, b->codes + (ptrdiff_t)r * n, r, b);
  }
  qk_bytes_multiply(&results, b->codes + from, b->v + (ptrdiff_t)16 * from, t->results, rows, 0,
                    wide);
}

#endif
