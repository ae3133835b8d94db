/* What attention on codes does between its products: scores become codes of weights, sums results.
 */
#ifndef QK_QATTENTION_WEIGHTS_H
#define QK_QATTENTION_WEIGHTS_H
#include <stddef.h>
#include <string.h>

#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/common/shared.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/qattention/qattention.h"
#include "kernels/qattention/rows.h"
#include "kernels/qattention/seen.h"

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
  const float *k_scales, *v_scales; /* null: one for all */
  const float* q_scales;            /* of its first query */
  float k_scale, v_scale;
  qk_code_rows q;
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

/* n scales of rows, `step` apart, and zeros up to `padded`. */
QK_INLINE const float* qk_near_scales(const float* x, ptrdiff_t step, int32_t n, int32_t padded,
                                      float* y) {
  for (int32_t j = 0; j < padded; ++j) y[j] = j < n ? x[j * step] : 0.0f;
  return y;
}

/* What all heads read. */
typedef struct qk_attended {
  const uint8_t *q, *k, *v, *keep;
  const float *add, *q_scales, *k_scales, *v_scales;
  const int32_t *q_zeros, *k_zeros, *v_zeros;
} qk_attended;

#endif
