#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/qrnn/qrnn.h"
#include "kernels/qtile/block.h"
#include "kernels/rnn/cell.h"

/* One direction's operands, and where its rows of weights start. */
typedef struct qk_qrnn_side {
  const void *w, *r;
  const float *mx, *mh, *bias, *peepholes;
  int32_t direction;
} qk_qrnn_side;

/* Continues the chains acc[from ... to) by the exact accumulators of v [n] with rows of w. */
QK_SHARED void qk_qrnn_accumulate_rows(int32_t wide, const void* w, int32_t type, ptrdiff_t first,
                                       const float* m, const int32_t* v, int32_t n, float* acc,
                                       int32_t from, int32_t to) {
  for (int32_t g = from; g < to; ++g) {
    const ptrdiff_t row = first + (ptrdiff_t)g * n;
    float sum;
    if (wide) {
      int64_t s = 0;
      for (int32_t k = 0; k < n; ++k) s += (int64_t)v[k] * qk_load_code(w, type, row + k);
      sum = (float)s;
    } else {
      int32_t s = 0;
      for (int32_t k = 0; k < n; ++k) s += v[k] * qk_load_code(w, type, row + k);
      sum = (float)s;
    }
    acc[g] = qn_fmaf(sum, m[g], acc[g]);
  }
}

/* Continues the chains of gates from ... to by accumulators of v [n] with their weights. */
QK_INLINE void qk_qrnn_chain_rows(const qk_qrnn_params* q, const qk_qrnn_side* s, int32_t gates,
                                  int32_t of_h, const int32_t* v, float* acc, int32_t* accumulators,
                                  int32_t from, int32_t to) {
  const int32_t n = of_h ? q->hidden : q->inputs, hidden = q->hidden;
  const ptrdiff_t first = (ptrdiff_t)s->direction * gates * hidden * n;
  (void)accumulators;
  qk_qrnn_accumulate_rows(q->wide, of_h ? s->r : s->w, of_h ? q->type_r : q->type_w, first,
                          of_h ? s->mh : s->mx, v, n, acc, from * hidden, to * hidden);
}

/* The exact accumulators of v [n] with `panels` panels of w; v is filled up to whole pairs. */
QK_SHARED void qk_qrnn_accumulate(const int8_t* w, const int16_t* v, int32_t n, int32_t panels,
                                  int32_t* accumulators) {
  const ptrdiff_t panel = (ptrdiff_t)((n + 1) / 2) * 32;
#if QK_ACC_REGISTERS != 0
  for (; panels >= 4; panels -= 4, w += 4 * panel, accumulators += 64) {
    qk_acc a[4];
    QK_UNROLL for (int p = 0; p < 4; ++p) a[p] = qk_acc_set(0);
    for (int32_t k = 0; k < n; k += 2) {
      QK_UNROLL for (int p = 0; p < 4; ++p) {
        qk_acc_dot(&a[p], qk_pairs_load(w + p * panel + k * 16), v + k);
      }
    }
    QK_UNROLL for (int p = 0; p < 4; ++p) qk_acc_store(accumulators + 16 * p, a[p]);
  }
#endif
  for (; panels > 0; --panels, w += panel, accumulators += 16) {
    qk_acc a = qk_acc_set(0);
#if QK_ACC_REGISTERS != 0
    for (int32_t k = 0; k < n; k += 2) qk_acc_dot(&a, qk_pairs_load(w + k * 16), v + k);
#else
    qk_acc_run(&a, w, v, n);
#endif
    qk_acc_store(accumulators, a);
  }
}

/* acc + sum * m of each of n rows; `accumulators` are whole panels. */
QK_SHARED void qk_qrnn_scale(const int32_t* accumulators, const float* m, int32_t n, float* acc) {
#if QK_ACC_REGISTERS != 0
  for (int32_t j = 0; j < n; j += 16) {
    const int32_t lanes = n - j < 16 ? n - j : 16;
    const qk_v16 sum = qk_acc_float(qk_acc_load_n(accumulators + j, 16));
    const qk_v16 v = qk_v16_fma(sum, qk_v16_load_n(m + j, lanes), qk_v16_load_n(acc + j, lanes));
    qk_v16_store_n(acc + j, v, lanes);
  }
#else
  for (int32_t j = 0; j < n; ++j) acc[j] = qn_fmaf((float)accumulators[j], m[j], acc[j]);
#endif
}

QK_INLINE void qk_qrnn_chain_panels(const qk_qrnn_params* q, const qk_qrnn_side* s, int32_t gates,
                                    int32_t of_h, const int16_t* v, float* acc,
                                    int32_t* accumulators, int32_t from, int32_t to) {
  const int32_t n = of_h ? q->hidden : q->inputs, hidden = q->hidden, panels = (hidden + 15) / 16;
  const ptrdiff_t gate = (ptrdiff_t)panels * ((n + 1) / 2) * 32;
  const int8_t* w = (const int8_t*)(of_h ? s->r : s->w) + (s->direction * gates + from) * gate;
  qk_qrnn_accumulate(w, v, n, (to - from) * panels, accumulators);
  for (int32_t g = from; g < to; ++g, accumulators += 16 * panels) {
    qk_qrnn_scale(accumulators, (of_h ? s->mh : s->mx) + g * hidden, hidden, acc + g * hidden);
  }
}

/* Codes of v, less their zero point. */
QK_SHARED void qk_qrnn_encode_rows(const qk_qrnn_params* q, const float* v, int32_t* codes) {
  for (int32_t j = 0; j < q->hidden; ++j) {
    codes[j] = qn_encode(v[j], q->divisor, q->reciprocal, q->zh, q->lo, q->hi) - q->zh;
  }
}
QK_SHARED void qk_qrnn_encode_panels(const qk_qrnn_params* q, const float* v, int16_t* codes) {
#if QK_ACC_REGISTERS != 0
  int32_t code[16];
  for (int32_t j = 0; j < q->hidden; j += 16) {
    const int32_t lanes = q->hidden - j < 16 ? q->hidden - j : 16;
    const qk_v16 x = qk_v16_load_n(v + j, lanes);
    const qk_v16 scaled =
        q->reciprocal ? qk_v16_mul(x, qk_v16_set(q->divisor)) : qk_v16_div(x, q->divisor);
    qk_acc_store(code, qk_q_code16(scaled, q->zh, q->lo, q->hi));
    for (int32_t i = 0; i < lanes; ++i) codes[j + i] = (int16_t)(code[i] - q->zh);
  }
#else
  for (int32_t j = 0; j < q->hidden; ++j) {
    codes[j] = (int16_t)(qn_encode(v[j], q->divisor, q->reciprocal, q->zh, q->lo, q->hi) - q->zh);
  }
#endif
}

QK_INLINE qk_rnn_params qk_qrnn_cell(const qk_qrnn_params* q) {
  qk_rnn_params p = {0};
  p.inputs = q->inputs;
  p.hidden = q->hidden;
  p.linear_before_reset = q->linear_before_reset;
  p.input_forget = q->input_forget;
  p.clip = q->clip;
  for (int i = 0; i < 6; ++i) {
    p.activation[i] = q->activation[i];
    p.alpha[i] = q->alpha[i];
    p.beta[i] = q->beta[i];
  }
  return p;
}

#define QK_WITH qk_qrnn, 1, rows, int32_t
#include "kernels/qrnn/body.inc"
#define QK_WITH qk_qgru, 3, rows, int32_t
#include "kernels/qrnn/body.inc"
#define QK_WITH qk_qlstm, 4, rows, int32_t
#include "kernels/qrnn/body.inc"
#define QK_WITH qk_qrnn, 1, panels, int16_t
#include "kernels/qrnn/body.inc"
#define QK_WITH qk_qgru, 3, panels, int16_t
#include "kernels/qrnn/body.inc"
#define QK_WITH qk_qlstm, 4, panels, int16_t
#include "kernels/qrnn/body.inc"
