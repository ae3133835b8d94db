#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/qrnn/qrnn.h"
#include "kernels/rnn/cell.h"

/* Continues the chains acc[from ... to) by the exact sums of v [n] with rows of w. */
QK_SHARED void qk_qrnn_chain(int32_t wide, const void* w, int32_t type, ptrdiff_t first,
                             const float* m, const int32_t* v, int32_t n, float* acc, int32_t from,
                             int32_t to) {
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

/* Codes of v, less their zero point. */
QK_SHARED void qk_qrnn_encode(const qk_qrnn_params* q, const float* v, int32_t* codes) {
  for (int32_t j = 0; j < q->hidden; ++j) {
    codes[j] = qn_encode(v[j], q->divisor, q->reciprocal, q->zh, q->lo, q->hi) - q->zh;
  }
}

/* One direction's operands, and where its rows of weights start. */
typedef struct qk_qrnn_side {
  const void *w, *r;
  const float *mx, *mh, *bias, *peepholes;
  ptrdiff_t w_row, r_row;
  int32_t activation;
} qk_qrnn_side;

/* One step: `gates` pre-activations per element of the state, h as values and as codes. */
QK_INLINE void qk_qrnn_step(const qk_qrnn_params* q, const qk_rnn_params* p, const qk_qrnn_side* s,
                            int32_t gates, const int32_t* xc, float* h, int32_t* hc, float* c,
                            float* acc, int32_t* rc) {
  const int32_t n = p->hidden, rows = gates * n, in = p->inputs;
  const int32_t separate = gates == 3 && p->linear_before_reset;
  const int32_t early = gates == 3 ? 2 * n : rows; /* rows whose recurrent sums take h itself */
  float *z = acc + rows, *a = z + 2 * n, *last = acc + 2 * n;
  for (int32_t g = 0; g < rows; ++g) {
    const int32_t alone = separate && g >= early;
    acc[g] = !s->bias ? 0.0f : alone ? s->bias[g] : s->bias[g] + s->bias[rows + g];
  }
  qk_qrnn_chain(q->wide, s->w, q->type_w, s->w_row, s->mx, xc, in, acc, 0, rows);
  qk_qrnn_chain(q->wide, s->r, q->type_r, s->r_row, s->mh, hc, n, acc, 0, early);
  if (gates == 1) qk_rnn_state(p, s->activation, acc, h);
  if (gates == 4) qk_lstm_state(p, s->activation, s->peepholes, acc, h, c);
  if (gates == 3) {
    qk_gru_gates(p, s->activation, acc, z);
    for (int32_t j = 0; j < n; ++j) a[j] = last[j];
    if (separate) {
      for (int32_t j = 0; j < n; ++j) last[j] = s->bias ? s->bias[rows + early + j] : 0.0f;
      qk_qrnn_chain(q->wide, s->r, q->type_r, s->r_row, s->mh, hc, n, acc, early, rows);
      for (int32_t j = 0; j < n; ++j) a[j] = qn_fmaf(z[n + j], last[j], a[j]);
    } else {
      float* const reset = z + 3 * n;
      for (int32_t j = 0; j < n; ++j) reset[j] = qn_mulf(z[n + j], h[j]);
      qk_qrnn_encode(q, reset, rc);
      qk_qrnn_chain(q->wide, s->r, q->type_r, s->r_row, s->mh, rc, n, acc, early, rows);
      for (int32_t j = 0; j < n; ++j) a[j] = last[j];
    }
    qk_gru_state(p, s->activation, z, a, h);
  }
  qk_qrnn_encode(q, h, hc);
  for (int32_t j = 0; j < n; ++j) h[j] = qn_mulf((float)hc[j], q->scale_h);
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

#define QK_WITH qk_qrnn, 1
#include "kernels/qrnn/body.inc"
#define QK_WITH qk_qgru, 3
#include "kernels/qrnn/body.inc"
#define QK_WITH qk_qlstm, 4
#include "kernels/qrnn/body.inc"
