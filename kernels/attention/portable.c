#include <stddef.h>

#include "kernels/attention/attention.h"
#include "kernels/attention/heads.h"
#include "kernels/common/inline.h"
#include "kernels/gemm/tile.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"

/* The n columns of a matrix of k rows, element (i, j) at i*k_step + j*n_step, and zeros up to
 * `padded` columns, in panels [padded / 16][k][16]. */
QK_INLINE void qk_attention_pack(const float* x, int32_t k, int32_t n, int32_t padded,
                                 ptrdiff_t k_step, ptrdiff_t n_step, float* y) {
  QK_ROLLED for (int32_t panel = 0; panel < padded; panel += 16) {
    const int32_t width = n - panel < 16 ? n - panel : 16;
    for (int32_t i = 0; i < k; ++i, y += 16) {
      const float* from = x + i * k_step + panel * n_step;
      if (width == 16) {
        for (int32_t j = 0; j < 16; ++j) y[j] = from[j * n_step];
      } else {
        QK_ROLLED for (int32_t j = 0; j < 16; ++j) y[j] = j < width ? from[j * n_step] : 0.0f;
      }
    }
  }
}

/* y [rows, n] = x [rows, k] times the panels, rows of x being x_row and rows of y y_row apart.
 * Where it is wide, n is a number of whole tiles; `known` is that of qk_run_rows. */
QK_INLINE void qk_attention_product(const float* x, int32_t x_row, const float* panels, float* y,
                                    int32_t y_row, int32_t rows, int32_t k, int32_t n, int32_t wide,
                                    int known) {
  qk_tile t = {{1, 1, 1}, 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
  t.k = k;
  t.w_panel = (ptrdiff_t)k * 16;
  t.x_row = x_row;
  t.y_row = y_row;
  t.lo = t.rlo = -QN_INF_F32;
  t.hi = t.rhi = QN_INF_F32;
  for (int32_t o = 0; o < n;) {
    const int32_t together = wide ? QK_MAX_PANELS : qk_panels_together((n - o + 15) / 16);
    const int32_t columns = !wide && n - o < 16 * together ? n - o : 16 * together;
    qk_run_rows(&t, x, panels + o / 16 * t.w_panel, 0, 0, y + o, rows, columns, together, known);
    o += columns;
  }
}

/* Each score x of n becomes `to`, sixteen at a time where there are as many: of loops over rows
 * that a run counts, compilers make vectors at -O2 only where they know the number of steps. */
#define QK_EACH_SCORE(x, s, n, to)          \
  do {                                      \
    int32_t at_ = 0;                        \
    for (; at_ + 16 <= (n); at_ += 16) {    \
      float* const of_ = (s) + at_;         \
      for (int32_t j_ = 0; j_ < 16; ++j_) { \
        const float x = of_[j_];            \
        of_[j_] = (to);                     \
      }                                     \
    }                                       \
    for (; at_ < (n); ++at_) {              \
      const float x = (s)[at_];             \
      (s)[at_] = (to);                      \
    }                                       \
  } while (0)

/* Scores of query i to weights; keep and add stand at the row's first key. */
QK_INLINE void qk_attention_row(const qk_attention_params* p, int32_t i, const uint8_t* keep,
                                const float* add, float* s) {
  const int32_t n = p->keys;
  const int64_t at = (int64_t)i + p->offset;
  const int64_t first = p->left < 0 ? 0 : at - p->left, last = p->right < 0 ? n : at + p->right;
  QK_EACH_SCORE(x, s, n, qn_mulf(x, p->scale));
  if (p->softcap > 0.0f) {
    for (int32_t j = 0; j < n; ++j) s[j] = qn_mulf(qn_tanh_f32(s[j] / p->softcap), p->softcap);
  }
  if (keep) {
    for (int32_t j = 0; j < n; ++j) s[j] = keep[(ptrdiff_t)j * p->mask[3]] ? s[j] : -QN_INF_F32;
  }
  if (add) {
    for (int32_t j = 0; j < n; ++j) s[j] += add[(ptrdiff_t)j * p->mask[3]];
  }
  for (int32_t j = 0; j < n && j < first; ++j) s[j] = -QN_INF_F32;
  for (int32_t j = n - 1; j >= 0 && j > last; --j) s[j] = -QN_INF_F32;
  const float max = qn_row_max_f32(s, n, 1);
  if (max == -QN_INF_F32 && !p->nan_rows) {
    for (int32_t j = 0; j < n; ++j) s[j] = 0.0f;
    return;
  }
  QK_EACH_SCORE(x, s, n, qn_exp_f32(x - max));
  const float sum = qn_sum_f32(s, n, 1);
  QK_EACH_SCORE(x, s, n, x / sum);
}

QK_INLINE void qk_attention_f32(const qk_attention_params* p, const float* q, const float* k,
                                const float* v, const uint8_t* keep, const float* add, float* y,
                                float* scratch) {
  float* const k_panels = scratch;
  const int32_t together = p->wide ? 16 * QK_MAX_PANELS : 16;
  const int32_t padded = (p->keys + together - 1) / together * together;
  const int32_t line = p->wide ? padded : p->keys; /* of scores */
  float* const v_panels = k_panels + (ptrdiff_t)padded * p->depth;
  float* const scores = v_panels + (ptrdiff_t)((p->value_depth + 15) / 16) * 16 * p->keys;
  const int32_t group = p->heads / p->kv_heads;
  for (int32_t b = 0; b < p->batch; ++b) {
    for (int32_t h = 0; h < p->heads; ++h) {
      if (h % group == 0) {
        qk_attention_pack(k + qk_head_at(p->k_at, b, h / group), p->depth, p->keys, padded, 1,
                          p->k_at[2], k_panels);
        qk_attention_pack(v + qk_head_at(p->v_at, b, h / group), p->keys, p->value_depth,
                          p->value_depth, p->v_at[2], 1, v_panels);
      }
      const float* const qh = q + qk_head_at(p->q_at, b, h);
      float* const yh = y + qk_head_at(p->y_at, b, h);
      for (int32_t i = 0; i < p->queries; i += p->rows) {
        const int32_t rows = p->queries - i < p->rows ? p->queries - i : p->rows;
        qk_attention_product(qh + (ptrdiff_t)i * p->q_at[2], p->q_at[2], k_panels, scores, line,
                             rows, p->depth, line, p->wide, QK_IS_NUMBER(p->queries));
        for (int32_t r = 0; r < rows; ++r) {
          const ptrdiff_t at = (ptrdiff_t)b * p->mask[0] + (ptrdiff_t)h * p->mask[1] +
                               (ptrdiff_t)(i + r) * p->mask[2];
          qk_attention_row(p, i + r, keep ? keep + at : 0, add ? add + at : 0,
                           scores + (ptrdiff_t)r * line);
        }
        qk_attention_product(scores, line, v_panels, yh + (ptrdiff_t)i * p->y_at[2], p->y_at[2],
                             rows, p->keys, p->value_depth, 0, QK_IS_NUMBER(p->queries));
      }
    }
  }
}
