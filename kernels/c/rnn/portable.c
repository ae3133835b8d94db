#include <stddef.h>

#include "kernels/c/gemm/tile.h"
#include "kernels/c/inline.h"
#include "kernels/c/rnn/rnn.h"
#include "kernels/numerics/scalar_ops.h"

QK_INLINE float qk_rnn_act(int32_t act, float x, float alpha, float beta) {
  switch (act) {
    case QK_ACT_SIGMOID: return qn_sigmoid_f32(x);
    case QK_ACT_TANH: return qn_tanh_f32(x);
    case QK_ACT_RELU: return qn_relu_f32(x);
    case QK_ACT_AFFINE: return qn_affine_f32(x, alpha, beta);
    case QK_ACT_LEAKY_RELU: return qn_leaky_relu_f32(x, alpha, 0.0f);
    case QK_ACT_THRESHOLDED_RELU: return qn_thresholded_relu_f32(x, alpha, 0.0f);
    case QK_ACT_SCALED_TANH: return qn_scaled_tanh_f32(x, alpha, beta);
    case QK_ACT_HARD_SIGMOID: return qn_hard_sigmoid_f32(x, alpha, beta);
    case QK_ACT_ELU: return qn_elu_f32(x, alpha, 0.0f);
    case QK_ACT_SOFTSIGN: return qn_softsign_f32(x);
    default: return qn_softplus_f32(x);
  }
}
#define QK_RNN_ACT(i, x) qk_rnn_act(p->act[i], qk_rnn_clip(p, (x)), p->alpha[i], p->beta[i])

QK_INLINE float qk_rnn_clip(const qk_rnn_params *p, float x) {
  return p->clip > 0.0f ? qn_clamp_f32(x, -p->clip, p->clip) : x;
}

QK_INLINE void qk_rnn_pack_f32(const qk_rnn_pack_params *p, const float *w, const float *r, float *y) {
  for (int32_t g = 0; g < p->gates; ++g) {
    for (int32_t panel = 0; panel < p->hidden; panel += 16) {
      for (int32_t k = 0; k < p->inputs + p->hidden; ++k) {
        for (int32_t j = 0; j < 16; ++j) {
          const ptrdiff_t row = (ptrdiff_t)g * p->hidden + panel + j;
          const float v = panel + j >= p->hidden ? 0.0f
                          : k < p->inputs        ? w[row * p->inputs + k]
                                                 : r[row * p->hidden + k - p->inputs];
          *y++ = v;
        }
      }
    }
  }
}

QK_INLINE void qk_rnn_bias_f32(const qk_rnn_bias_params *p, const float *b, float *y) {
  const int32_t rows = p->gates * p->hidden, both = p->reset_after ? rows - p->hidden : rows;
  for (int32_t i = 0; i < rows; ++i) y[i] = i < both ? b[i] + b[rows + i] : b[i];
  for (int32_t i = both; i < rows; ++i) y[p->hidden + i] = b[rows + i];
}

/* The work area: rows [inputs | state], then gates, then a spare state. */
typedef struct qk_rnn_work {
  float *in, *gates, *spare;
} qk_rnn_work;

QK_INLINE qk_rnn_work qk_rnn_split(const qk_rnn_params *p, float *work) {
  qk_rnn_work w;
  w.in = work;
  w.gates = w.in + (ptrdiff_t)p->batch * (p->inputs + p->hidden);
  w.spare = w.gates + (ptrdiff_t)p->batch * p->gates * p->hidden;
  return w;
}

/* Gate `gate` of all rows: k products from element `from` of [inputs | state] on. */
QK_INLINE void qk_rnn_gate(const qk_rnn_params *p, const qk_rnn_work *work, int32_t gate, int32_t from,
                           int32_t k, const float *w, const float *bias, float *y, ptrdiff_t y_row) {
  const int32_t width = p->inputs + p->hidden;
  qk_tile t = {{1, 1, 1}, 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
  t.k = k;
  t.w_panel = (ptrdiff_t)width * 16;
  t.x_row = width;
  t.y_row = y_row;
  t.lo = -QN_INF_F32;
  t.hi = QN_INF_F32;
  w += (ptrdiff_t)gate * ((p->hidden + 15) / 16) * t.w_panel + (ptrdiff_t)from * 16;
  for (int32_t o = 0; o < p->hidden;) {
    const int32_t panels = qk_panels_together((p->hidden - o + 15) / 16);
    const int32_t outputs = p->hidden - o < 16 * panels ? p->hidden - o : 16 * panels;
    qk_run_rows(&t, work->in + from, w + o / 16 * t.w_panel, bias ? bias + o : 0, 0, y + o, p->batch,
                outputs, panels);
    o += outputs;
  }
}

/* Where row b is at step s; negative when it has ended. */
QK_INLINE int32_t qk_rnn_step(const qk_rnn_params *p, const int32_t *lens, int32_t b, int32_t s) {
  const int32_t length = lens ? lens[b] : p->steps;
  if (s >= length) return -1;
  return p->reverse ? length - 1 - s : s;
}

/* Copies the inputs of step s beside the state. */
QK_INLINE void qk_rnn_feed(const qk_rnn_params *p, const qk_rnn_work *work, const int32_t *lens, int32_t s,
                           const float *x) {
  for (int32_t b = 0; b < p->batch; ++b) {
    const int32_t at = qk_rnn_step(p, lens, b, s);
    float *row = work->in + (ptrdiff_t)b * (p->inputs + p->hidden);
    const float *from = x + ((ptrdiff_t)(at < 0 ? 0 : at) * p->batch + b) * p->inputs;
    for (int32_t i = 0; i < p->inputs; ++i) row[i] = from[i];
  }
}

QK_INLINE void qk_rnn_start(const qk_rnn_params *p, const qk_rnn_work *work, const float *h0,
                            const float *c0, float *y, float *c) {
  const ptrdiff_t all = (ptrdiff_t)p->steps * p->batch * p->hidden;
  for (ptrdiff_t i = 0; i < all; ++i) y[i] = 0.0f;
  for (int32_t b = 0; b < p->batch; ++b) {
    float *state = work->in + (ptrdiff_t)b * (p->inputs + p->hidden) + p->inputs;
    for (int32_t i = 0; i < p->hidden; ++i) {
      state[i] = h0 ? h0[(ptrdiff_t)b * p->hidden + i] : 0.0f;
      if (c) c[(ptrdiff_t)b * p->hidden + i] = c0 ? c0[(ptrdiff_t)b * p->hidden + i] : 0.0f;
    }
  }
}

QK_INLINE void qk_rnn_finish(const qk_rnn_params *p, const qk_rnn_work *work, float *last) {
  if (!last) return;
  for (int32_t b = 0; b < p->batch; ++b) {
    const float *state = work->in + (ptrdiff_t)b * (p->inputs + p->hidden) + p->inputs;
    for (int32_t i = 0; i < p->hidden; ++i) last[(ptrdiff_t)b * p->hidden + i] = state[i];
  }
}

QK_INLINE void qk_rnn_f32(const qk_rnn_params *p, const float *x, const float *w, const float *bias,
                          const float *peepholes, const int32_t *lens, const float *h0,
                          const float *c0, float *y, float *last, float *last_c, float *scratch) {
  const qk_rnn_work work = qk_rnn_split(p, scratch);
  (void)peepholes;
  (void)c0;
  (void)last_c;
  qk_rnn_start(p, &work, h0, 0, y, 0);
  for (int32_t s = 0; s < p->steps; ++s) {
    qk_rnn_feed(p, &work, lens, s, x);
    qk_rnn_gate(p, &work, 0, 0, p->inputs + p->hidden, w, bias, work.gates, p->hidden);
    for (int32_t b = 0; b < p->batch; ++b) {
      const int32_t at = qk_rnn_step(p, lens, b, s);
      float *state = work.in + (ptrdiff_t)b * (p->inputs + p->hidden) + p->inputs;
      if (at < 0) continue;
      for (int32_t i = 0; i < p->hidden; ++i) {
        state[i] = QK_RNN_ACT(0, work.gates[(ptrdiff_t)b * p->hidden + i]);
        y[((ptrdiff_t)at * p->batch + b) * p->hidden + i] = state[i];
      }
    }
  }
  qk_rnn_finish(p, &work, last);
}

QK_INLINE void qk_lstm_f32(const qk_rnn_params *p, const float *x, const float *w, const float *bias,
                           const float *peepholes, const int32_t *lens, const float *h0,
                           const float *c0, float *y, float *last, float *last_c, float *scratch) {
  const qk_rnn_work work = qk_rnn_split(p, scratch);
  const int32_t n = p->hidden;
  float *cells = last_c ? last_c : work.spare;
  qk_rnn_start(p, &work, h0, c0, y, cells);
  for (int32_t s = 0; s < p->steps; ++s) {
    qk_rnn_feed(p, &work, lens, s, x);
    for (int32_t g = 0; g < 4; ++g) {
      qk_rnn_gate(p, &work, g, 0, p->inputs + n, w, bias ? bias + (ptrdiff_t)g * n : 0,
                  work.gates + (ptrdiff_t)g * n, (ptrdiff_t)4 * n);
    }
    for (int32_t b = 0; b < p->batch; ++b) {
      const int32_t at = qk_rnn_step(p, lens, b, s);
      float *state = work.in + (ptrdiff_t)b * (p->inputs + n) + p->inputs;
      const float *gates = work.gates + (ptrdiff_t)b * 4 * n;
      float *c = cells + (ptrdiff_t)b * n;
      if (at < 0) continue;
      for (int32_t i = 0; i < n; ++i) {
        float vi = gates[i], vo = gates[n + i], vf = gates[2 * n + i], in, forget, cell, out;
        if (peepholes) {
          vi = qn_fmaf(peepholes[i], c[i], vi);
          vf = qn_fmaf(peepholes[2 * n + i], c[i], vf);
        }
        in = QK_RNN_ACT(0, vi);
        forget = p->couple ? 1.0f - in : QK_RNN_ACT(0, vf);
        cell = QK_RNN_ACT(1, gates[3 * n + i]);
        c[i] = qn_fmaf(forget, c[i], qn_mulf(in, cell));
        if (peepholes) vo = qn_fmaf(peepholes[n + i], c[i], vo);
        out = QK_RNN_ACT(0, vo);
        state[i] = qn_mulf(out, qk_rnn_act(p->act[2], c[i], p->alpha[2], p->beta[2]));
        y[((ptrdiff_t)at * p->batch + b) * n + i] = state[i];
      }
    }
  }
  qk_rnn_finish(p, &work, last);
}

QK_INLINE void qk_gru_f32(const qk_rnn_params *p, const float *x, const float *w, const float *bias,
                          const float *peepholes, const int32_t *lens, const float *h0,
                          const float *c0, float *y, float *last, float *last_c, float *scratch) {
  const qk_rnn_work work = qk_rnn_split(p, scratch);
  const int32_t n = p->hidden;
  (void)peepholes;
  (void)c0;
  (void)last_c;
  qk_rnn_start(p, &work, h0, 0, y, 0);
  for (int32_t s = 0; s < p->steps; ++s) {
    qk_rnn_feed(p, &work, lens, s, x);
    for (int32_t g = 0; g < 2; ++g) {
      qk_rnn_gate(p, &work, g, 0, p->inputs + n, w, bias ? bias + (ptrdiff_t)g * n : 0,
                  work.gates + (ptrdiff_t)g * n, (ptrdiff_t)3 * n);
    }
    for (int32_t b = 0; b < p->batch; ++b) {
      float *gates = work.gates + (ptrdiff_t)b * 3 * n;
      for (int32_t i = 0; i < 2 * n; ++i) gates[i] = QK_RNN_ACT(0, gates[i]);
    }
    if (p->reset_after) {
      qk_rnn_gate(p, &work, 2, p->inputs, n, w, bias ? bias + (ptrdiff_t)3 * n : 0, work.spare, n);
      qk_rnn_gate(p, &work, 2, 0, p->inputs, w, bias ? bias + (ptrdiff_t)2 * n : 0,
                  work.gates + (ptrdiff_t)2 * n, (ptrdiff_t)3 * n);
    } else {
      /* The state makes way for r*h while the last gate is computed. */
      for (int32_t b = 0; b < p->batch; ++b) {
        float *state = work.in + (ptrdiff_t)b * (p->inputs + n) + p->inputs;
        for (int32_t i = 0; i < n; ++i) {
          work.spare[(ptrdiff_t)b * n + i] = state[i];
          state[i] = qn_mulf(work.gates[(ptrdiff_t)b * 3 * n + n + i], state[i]);
        }
      }
      qk_rnn_gate(p, &work, 2, 0, p->inputs + n, w, bias ? bias + (ptrdiff_t)2 * n : 0,
                  work.gates + (ptrdiff_t)2 * n, (ptrdiff_t)3 * n);
    }
    for (int32_t b = 0; b < p->batch; ++b) {
      const int32_t at = qk_rnn_step(p, lens, b, s);
      float *state = work.in + (ptrdiff_t)b * (p->inputs + n) + p->inputs;
      const float *gates = work.gates + (ptrdiff_t)b * 3 * n, *spare = work.spare + (ptrdiff_t)b * n;
      for (int32_t i = 0; i < n; ++i) {
        const float z = gates[i], before = p->reset_after ? state[i] : spare[i];
        float g = gates[2 * n + i];
        if (at < 0) {
          state[i] = before;
          continue;
        }
        if (p->reset_after) g = qn_fmaf(gates[n + i], spare[i], g);
        g = QK_RNN_ACT(1, g);
        state[i] = qn_fmaf(z, before, qn_mulf(1.0f - z, g));
        y[((ptrdiff_t)at * p->batch + b) * n + i] = state[i];
      }
    }
  }
  qk_rnn_finish(p, &work, last);
}
