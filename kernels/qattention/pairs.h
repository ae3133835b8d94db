/* Attention's products of codes as numbers of 16 bits, less their zero points, a pair at a time. */
#ifndef QK_QATTENTION_PAIRS_H
#define QK_QATTENTION_PAIRS_H
#include <stddef.h>
#include <string.h>

#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/common/shared.h"
#include "kernels/qattention/product.h"
#include "kernels/qattention/weights.h"

/* Panels lie as [columns / 16][pairs of k][16][2]; as QK_QATTENTION_WORDS counts them. */
typedef struct qk_attended_pairs {
  int16_t *k, *v, *words, *codes; /* panels, then some queries and their weights */
} qk_attended_pairs;

QK_INLINE qk_attended_pairs qk_pairs_positions(const qk_qattention_params* p, void* scratch) {
  const int32_t n = (p->keys + 15) / 16 * 16, d = (p->depth + 1) / 2 * 2;
  const int32_t wide = (p->value_depth + 15) / 16 * 16;
  qk_attended_pairs a;
  a.k = (int16_t*)scratch;
  a.v = a.k + (ptrdiff_t)n * d;
  a.words = a.v + (ptrdiff_t)wide * ((p->keys + 1) / 2 * 2);
  a.codes = a.words + (ptrdiff_t)p->rows * d;
  return a;
}

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

/* Keys and values of a head as panels. */
QK_INLINE void qk_pairs_fill(const qk_qattention_params* p, const uint8_t* k,
                             const qk_code_rows* zk, const uint8_t* v, const qk_code_rows* zv,
                             const qk_attended_pairs* a) {
  qk_row_panels(k, zk, p->keys, p->depth, a->k);
  qk_column_panels(v, zv, p->keys, p->value_depth, a->v);
}

/* Scores of queries [i, i + rows) by panels of keys [first, last); q points to the first query. */
QK_INLINE void qk_pairs_scores(const qk_qattention_params* p, const qk_head* t,
                               const qk_attended_pairs* a, int32_t i, int32_t rows, const void* q,
                               int32_t first, int32_t last) {
  const int32_t d = (p->depth + 1) / 2 * 2, n = (p->keys + 15) / 16 * 16;
  const qk_codes_product scores = {d / 2, d, (ptrdiff_t)16 * d, n, t->by, t->k_scales, 0, 0, 0};
  for (int32_t r = 0; r < rows; ++r) {
    int16_t* words = a->words + r * d;
    qk_row_words(q, p->q_type, (i + r) * t->q.row, p->depth, qk_row_zero(&t->q, i + r), words);
    if (p->depth % 2) words[p->depth] = 0;
  }
  qk_pairs_multiply(&scores, a->words, a->k, t->scores, rows, first, last);
}

/* Accumulators of values by codes of weights of keys [from, to), times t->by. */
QK_INLINE void qk_pairs_results(const qk_qattention_params* p, const qk_head* t,
                                const qk_attended_pairs* a, int32_t rows, int32_t from,
                                int32_t to) {
  const int32_t n = (p->keys + 15) / 16 * 16, wide = (p->value_depth + 15) / 16;
  const int32_t keys = to > from ? to - from : 0;
  const qk_codes_product results = {
      keys / 2, n, (ptrdiff_t)(p->keys + 1) / 2 * 32, (ptrdiff_t)16 * wide, t->by, 0, 0, 0, 0};
  qk_pairs_multiply(&results, a->codes + from, a->v + (ptrdiff_t)16 * from, t->results, rows, 0,
                    wide);
}

#endif
