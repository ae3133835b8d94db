#include <stddef.h>
#include <string.h>

#include "kernels/attention/heads.h"
#include "kernels/common/codes.h"
#include "kernels/common/ending.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/qattention/bytes.h"
#include "kernels/qattention/product.h"
#include "kernels/qattention/qattention.h"
#include "kernels/qattention/rows.h"
#include "kernels/qattention/seen.h"

/* n codes less their zero point. */
QK_INLINE void qk_row_words(const void* x, int32_t type, ptrdiff_t at, int32_t n, int32_t zero,
                            int16_t* y) {
  if (type == QK_I8) {
    for (int32_t i = 0; i < n; ++i) y[i] = (int16_t)(((const int8_t*)x)[at + i] - zero);
  } else {
    for (int32_t i = 0; i < n; ++i) y[i] = (int16_t)(((const uint8_t*)x)[at + i] - zero);
  }
}

/* `rows` rows of n codes each as columns of panels; what fills them up is 0. */
QK_SHARED void qk_row_panels(const void* x, const qk_code_rows* z, int32_t rows, int32_t n,
                             int16_t* y) {
  const int32_t pairs = (n + 1) / 2;
  int16_t some[32];
  for (int32_t panel = 0; panel < rows; panel += 16, y += 32 * pairs) {
    for (int32_t j = 0; j < 16; ++j) {
      const ptrdiff_t row = panel + j;
      const int there = panel + j < rows;
      const int32_t zero = there ? qk_row_zero(z, row) : 0;
      for (int32_t i = 0; i < n; i += 32) {
        const int32_t left = n - i < 32 ? n - i : 32;
        if (!there || left < 32) memset(some, 0, sizeof some);
        if (there && left == 32) {
          qk_row_words(x, z->type, row * z->row + i, 32, zero, some);
        } else if (there) {
          qk_row_words(x, z->type, row * z->row + i, left, zero, some);
        }
        for (int32_t k = 0; k < (left + 1) / 2; ++k) {
          memcpy(y + (ptrdiff_t)(i / 2 + k) * 32 + 2 * j, some + 2 * k, 4);
        }
      }
    }
  }
}

/* 16 columns of a row; those beyond `there` are 0. */
QK_INLINE void qk_column_words(const void* x, const qk_code_rows* z, ptrdiff_t row, ptrdiff_t at,
                               int32_t there, int16_t* y) {
  const int32_t zero = qk_row_zero(z, row);
  if (there == 16) {
    qk_row_words(x, z->type, at, 16, zero, y);
  } else {
    for (int j = 0; j < 16; ++j) {
      y[j] = (int16_t)(j < there ? qk_load_code(x, z->type, at + j) - zero : 0);
    }
  }
}

/* The same codes in panels of their columns, pairs of rows side by side. */
QK_SHARED void qk_column_panels(const void* x, const qk_code_rows* z, int32_t rows, int32_t n,
                                int16_t* y) {
  int16_t a[16], b[16] = {0};
  for (int32_t panel = 0; panel < n; panel += 16) {
    const int32_t there = n - panel < 16 ? n - panel : 16;
    for (int32_t i = 0; i < rows; i += 2, y += 32) {
      const ptrdiff_t row = i;
#if QK_ACC_REGISTERS != 0
      if (there == 16 && i + 1 < rows) {
        const uint8_t* from = (const uint8_t*)x + row * z->row + panel;
        const int32_t is_signed = z->type == QK_I8;
        qk_join_words(qk_words_of(from, is_signed, qk_row_zero(z, row)),
                      qk_words_of(from + z->row, is_signed, qk_row_zero(z, row + 1)), y);
        continue;
      }
#endif
      qk_column_words(x, z, row, row * z->row + panel, there, a);
      if (i + 1 < rows) {
        qk_column_words(x, z, row + 1, (row + 1) * z->row + panel, there, b);
      } else {
        memset(b, 0, sizeof b);
      }
      for (int j = 0; j < 16; ++j) {
        y[2 * j] = a[j];
        y[2 * j + 1] = b[j];
      }
    }
  }
}

/* What is left of a score before its softmax; keep and add stand at the row's first key. */
QK_INLINE void qk_mask_scores(const qk_qattention_params* p, qk_seen see, const uint8_t* keep,
                              const float* add, float* s) {
  if (p->softcap > 0.0f) {
    for (int32_t j = see.first; j < see.end; ++j) {
      s[j] = qn_mulf(qn_tanh_f32(s[j] / p->softcap), p->softcap);
    }
  }
  if (keep && p->mask[3] == 1) {
    for (int32_t j = see.first; j < see.end; ++j) s[j] = keep[j] ? s[j] : -QN_INF_F32;
  } else if (keep) {
    for (int32_t j = see.first; j < see.end; ++j) s[j] = *keep ? s[j] : -QN_INF_F32;
  }
  if (add && p->mask[3] == 1) {
    for (int32_t j = see.first; j < see.end; ++j) s[j] += add[j];
  } else if (add) {
    for (int32_t j = see.first; j < see.end; ++j) s[j] += *add;
  }
}

/* Scores of a query to codes of weights at [from, to), 0 where it sees no key; what their sums are
 * multiplied with, the scale of v aside: `blind` where it sees no key at all. v_scales may be null.
 * Codes have `size` bytes. */
QK_SHARED float qk_weight_codes(float* s, qk_seen see, int32_t from, int32_t to,
                                const float* v_scales, float blind, void* codes, int32_t size) {
  const float max = see.end > see.first ? qk_row_max(s, see.first, see.end) : -QN_INF_F32;
  float sum, largest = 1.0f;
  memset((uint8_t*)codes + (ptrdiff_t)from * size, 0, (size_t)((to - from) * size));
  if (max == -QN_INF_F32) return blind;
#if QK_ACC_REGISTERS == 1
  if (!v_scales && size == 1 && see.end <= QN_BLOCK) {
    return (1.0f / 255.0f) / qk_row_exp_codes(s, see.first, see.end, max, (uint8_t*)codes);
  }
#endif
  sum = qk_row_exp(s, see.first, see.end, max);
  if (v_scales) {
    qk_row_multiply(s, v_scales, see.first, see.end);
    largest = qk_row_max(s, see.first, see.end);
  }
  qk_row_codes(s, see.first, see.end, 255.0f / largest, codes, size);
  return (largest / 255.0f) / sum;
}

/* What the queries of one head share. */
typedef struct qk_head {
  const int16_t *k_panels, *v_panels;
  const float *k_scales, *v_scales; /* null: one for all */
  const float* q_scales;            /* of its first query */
  float k_scale, v_scale;
  qk_code_rows q;
  int16_t *words, *codes;
#if defined(QK_TARGET_AVX512VNNI)
  qk_attended_bytes bytes; /* in place of panels, words and codes with QK_ATTENDS_BYTES */
#endif
  float *scores, *results, *by;
} qk_head;

QK_INLINE void qk_store_results(const qk_qattention_params* p, const float* x, void* y,
                                ptrdiff_t at) {
  const int32_t n = p->value_depth;
  if (p->y_type == QK_F32) {
    for (int32_t i = 0; i < n; ++i) ((float*)y)[at + i] = x[i];
  } else {
    for (int32_t i = 0; i < n; ++i) {
      qk_store_code(y, p->y_type, at + i, qn_code(x[i], p->y_zero, p->lo, p->hi));
    }
  }
}

/* Codes of weights of query r of those that are worked on together. */
QK_INLINE void* qk_weights_of(const qk_qattention_params* p, const qk_head* t, int32_t r) {
  const ptrdiff_t at = (ptrdiff_t)r * ((p->keys + 15) / 16 * 16);
#if defined(QK_TARGET_AVX512VNNI)
  if (QK_ATTENDS_BYTES(p)) return t->bytes.codes + at;
#endif
  return t->codes + at;
}

/* n scales of rows, `step` apart, and zeros up to `padded`. */
QK_INLINE const float* qk_near_scales(const float* x, ptrdiff_t step, int32_t n, int32_t padded,
                                      float* y) {
  for (int32_t j = 0; j < padded; ++j) y[j] = j < n ? x[j * step] : 0.0f;
  return y;
}

/* Scores of queries [i, i + rows) by panels of keys [first, last); q points to the first query. */
QK_INLINE void qk_qattention_scores(const qk_qattention_params* p, const qk_head* t, int32_t i,
                                    int32_t rows, const void* q, int32_t first, int32_t last) {
  const int32_t d = (p->depth + 1) / 2 * 2, n = (p->keys + 15) / 16 * 16;
  for (int32_t r = 0; r < rows; ++r) {
    const float sq = t->q_scales ? t->q_scales[(i + r) * p->q_scales_at[2]] : p->q_scale;
    t->by[r] = t->k_scales ? qn_mulf(sq, p->scale) : qn_mulf(qn_mulf(sq, p->scale), t->k_scale);
  }
#if defined(QK_TARGET_AVX512VNNI)
  if (QK_ATTENDS_BYTES(p)) {
    const qk_attended_bytes* b = &t->bytes;
    const int32_t quads = (p->depth + 3) / 4;
    const qk_codes_product scores = {quads,    4 * quads, (ptrdiff_t)64 * quads,
                                     n,        t->by,     t->k_scales,
                                     b->start, b->q_more, b->k_more};
    for (int32_t r = 0; r < rows; ++r) {
      qk_bytes_query((const uint8_t*)q + (i + r) * t->q.row, p->q_type, p->depth,
                     qk_row_zero(&t->q, i + r), r, b);
    }
    qk_bytes_multiply(&scores, b->q, b->k, t->scores, rows, first, last);
    return;
  }
#endif
  const qk_codes_product scores = {d / 2, d, (ptrdiff_t)16 * d, n, t->by, t->k_scales, 0, 0, 0};
  for (int32_t r = 0; r < rows; ++r) {
    int16_t* words = t->words + r * d;
    qk_row_words(q, p->q_type, (i + r) * t->q.row, p->depth, qk_row_zero(&t->q, i + r), words);
    if (p->depth % 2) words[p->depth] = 0;
  }
  qk_pairs_multiply(&scores, t->words, t->k_panels, t->scores, rows, first, last);
}

/* Accumulators of values by codes of weights of keys [from, to), times t->by. */
QK_INLINE void qk_qattention_results(const qk_qattention_params* p, const qk_head* t, int32_t rows,
                                     int32_t from, int32_t to) {
  const int32_t n = (p->keys + 15) / 16 * 16, wide = (p->value_depth + 15) / 16;
  const int32_t keys = to > from ? to - from : 0;
#if defined(QK_TARGET_AVX512VNNI)
  if (QK_ATTENDS_BYTES(p)) {
    const qk_attended_bytes* b = &t->bytes;
    const qk_codes_product results = {
        keys / 4, n, (ptrdiff_t)(p->keys + 3) / 4 * 64, (ptrdiff_t)16 * wide, t->by, 0, b->start,
        0,        0};
    for (int32_t r = 0; r < rows; ++r) {
      qk_bytes_weights(from, to, b->codes + (ptrdiff_t)r * n, r, b);
    }
    qk_bytes_multiply(&results, b->codes + from, b->v + (ptrdiff_t)16 * from, t->results, rows, 0,
                      wide);
    return;
  }
#endif
  const qk_codes_product results = {
      keys / 2, n, (ptrdiff_t)(p->keys + 1) / 2 * 32, (ptrdiff_t)16 * wide, t->by, 0, 0, 0, 0};
  qk_pairs_multiply(&results, t->codes + from, t->v_panels + (ptrdiff_t)16 * from, t->results, rows,
                    0, wide);
}

/* Queries [i, i + rows) of head h of batch b, whose first q points to; its result is at `to`. */
QK_INLINE void qk_qattention_rows(const qk_qattention_params* p, const qk_head* t, int32_t b,
                                  int32_t h, int32_t i, int32_t rows, const void* q,
                                  const uint8_t* keep, const float* add, void* y, ptrdiff_t to) {
  const int32_t n = (p->keys + 15) / 16 * 16, unit = QK_ATTENDS_BYTES(p) ? 4 : 2;
  const qk_seen low = qk_keys_seen(p, i), high = qk_keys_seen(p, i + rows - 1);
  const int32_t first = low.first / 16, last = (high.end + 15) / 16;
  const int32_t keys = (p->keys + unit - 1) / unit * unit;
  const int32_t end = 16 * last < keys ? 16 * last : keys;
  const int32_t wide = (p->value_depth + 15) / 16 * 16;
  qk_qattention_scores(p, t, i, rows, q, first, last);
  for (int32_t r = 0; r < rows; ++r) {
    const ptrdiff_t at =
        (ptrdiff_t)b * p->mask[0] + (ptrdiff_t)h * p->mask[1] + (ptrdiff_t)(i + r) * p->mask[2];
    const qk_seen see = qk_keys_seen(p, i + r);
    float* s = t->scores + (ptrdiff_t)r * n;
    float by;
    qk_mask_scores(p, see, keep ? keep + at : 0, add ? add + at : 0, s);
    by = qk_weight_codes(s, see, 16 * first, end, t->v_scales,
                         p->nan_rows ? QN_INF_F32 - QN_INF_F32 : 1.0f, qk_weights_of(p, t, r),
                         QK_ATTENDS_BYTES(p) ? 1 : 2);
    if (!t->v_scales) by = qn_mulf(by, t->v_scale);
    t->by[r] = p->y_type == QK_F32 ? by : by / p->y_scale;
  }
  qk_qattention_results(p, t, rows, 16 * first, end);
  for (int32_t r = 0; r < rows; ++r) {
    qk_store_results(p, t->results + (ptrdiff_t)r * wide, y, to + (ptrdiff_t)(i + r) * p->y_at[2]);
  }
}

/* What all heads read. */
typedef struct qk_attended {
  const uint8_t *q, *k, *v, *keep;
  const float *add, *q_scales, *k_scales, *v_scales;
  const int32_t *q_zeros, *k_zeros, *v_zeros;
} qk_attended;

/* Keys and values of head h of batch b as panels, their scales side by side. */
QK_INLINE void qk_qattention_keys(const qk_qattention_params* p, const qk_attended* x, qk_head* t,
                                  int32_t b, int32_t h, int16_t* panels, int16_t* v_panels,
                                  float* scales) {
  const int32_t n = (p->keys + 15) / 16 * 16;
  const ptrdiff_t ks = qk_head_at(p->k_scales_at, b, h), vs = qk_head_at(p->v_scales_at, b, h);
  const ptrdiff_t kz = qk_head_at(p->k_zeros_at, b, h), vz = qk_head_at(p->v_zeros_at, b, h);
  const qk_code_rows zk = {p->k_type, p->k_zero, p->k_at[2], p->k_zeros_at[2],
                           x->k_zeros ? x->k_zeros + kz : 0};
  const qk_code_rows zv = {p->v_type, p->v_zero, p->v_at[2], p->v_zeros_at[2],
                           x->v_zeros ? x->v_zeros + vz : 0};
  const uint8_t *k = x->k + qk_head_at(p->k_at, b, h), *v = x->v + qk_head_at(p->v_at, b, h);
  if (QK_ATTENDS_BYTES(p)) {
#if defined(QK_TARGET_AVX512VNNI)
    qk_bytes_keys(k, &zk, p->keys, p->depth, &t->bytes);
    qk_bytes_values(v, &zv, p->keys, p->value_depth, &t->bytes);
#endif
  } else {
    qk_row_panels(k, &zk, p->keys, p->depth, panels);
    qk_column_panels(v, &zv, p->keys, p->value_depth, v_panels);
  }
  if (x->k_scales && p->k_rows)
    t->k_scales = qk_near_scales(x->k_scales + ks, p->k_scales_at[2], p->keys, n, scales);
  if (x->v_scales && p->v_rows)
    t->v_scales = qk_near_scales(x->v_scales + vs, p->v_scales_at[2], p->keys, n, scales + n);
}

QK_INLINE void qk_qattention_i8(const qk_qattention_params* p, const void* q, const void* k,
                                const void* v, const uint8_t* keep, const float* add,
                                const float* q_scales, const int32_t* q_zeros,
                                const float* k_scales, const int32_t* k_zeros,
                                const float* v_scales, const int32_t* v_zeros, const float* scales,
                                const int32_t* zeros, void* y, float* y_scales, int32_t* y_zeros,
                                float* floats, float* scores, int16_t* words) {
  const int32_t n = (p->keys + 15) / 16 * 16, d = (p->depth + 1) / 2 * 2;
  const int32_t wide = (p->value_depth + 15) / 16 * 16, group = p->heads / p->kv_heads;
  const int32_t ends = p->e_mode != QK_NO_ENDING;
  const qk_attended x = {
      (const uint8_t*)q, (const uint8_t*)k, (const uint8_t*)v, keep,    add,    q_scales,
      k_scales,          v_scales,          q_zeros,           k_zeros, v_zeros};
  const qk_ending e = QK_ENDING_OF(p);
  qk_range all = {0.0f, 0.0f};
  float* const near_scales = scores + (ptrdiff_t)p->rows * (n + wide);
  int16_t* const v_panels = words + (ptrdiff_t)n * d;
  const qk_code_rows queries = {p->q_type, p->q_zero, p->q_at[2], p->q_zeros_at[2], 0};
  qk_head t;
  memset(&t, 0, sizeof t);
  t.k_panels = words;
  t.v_panels = v_panels;
  t.k_scale = p->k_scale;
  t.v_scale = p->v_scale;
  t.q = queries;
  t.scores = scores;
  t.results = scores + (ptrdiff_t)p->rows * n;
  t.by = near_scales + 2 * n;
  t.words = v_panels + (ptrdiff_t)wide * ((p->keys + 1) / 2 * 2);
  t.codes = t.words + (ptrdiff_t)p->rows * d;
#if defined(QK_TARGET_AVX512VNNI)
  t.bytes = qk_bytes_places(p, words);
#endif
  if (k_scales && !p->k_rows) t.k_scale = *k_scales;
  if (v_scales && !p->v_rows) t.v_scale = *v_scales;
  for (int32_t b = 0; b < p->batch; ++b) {
    const int32_t row = b * p->e_batch; /* the first of the batch, of an ending */
    for (int32_t h = 0; h < p->heads; ++h) {
      if (h % group == 0) qk_qattention_keys(p, &x, &t, b, h / group, words, v_panels, near_scales);
      t.q.zeros = q_zeros ? q_zeros + qk_head_at(p->q_zeros_at, b, h) : 0;
      t.q_scales = q_scales ? q_scales + qk_head_at(p->q_scales_at, b, h) : 0;
      for (int32_t i = 0; i < p->queries; i += p->rows) {
        const int32_t rows = p->queries - i < p->rows ? p->queries - i : p->rows;
        qk_qattention_rows(p, &t, b, h, i, rows, x.q + qk_head_at(p->q_at, b, h), keep, add,
                           ends ? qk_ending_row(&e, row, p->e_row) : y,
                           qk_head_at(p->y_at, ends ? 0 : b, h));
      }
    }
    for (int32_t r = row; ends && r < row + p->e_batch; ++r)
      qk_ending_encode_row(&e, qk_ending_row(&e, r, p->e_row), r, p->e_row, &all);
  }
  if (ends) qk_ending_finish(&e, p->batch * p->e_batch, p->e_row, &all);
}
