/* Cells from their pre-activations on, whatever those were summed from. */
#ifndef QK_RNN_CELL_H
#define QK_RNN_CELL_H
#include "kernels/common/inline.h"
#include "kernels/common/shared.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/rnn/rnn.h"

QK_INLINE void qk_rnn_limit(float clip, float* v, int32_t n) {
  if (clip == QN_INF_F32) return;
  for (int32_t j = 0; j < n; ++j) v[j] = qn_clamp_f32(v[j], -clip, clip);
}

/* Before a loop with so many constants that, as vectors, they would fill kilobytes of stack. */
#if defined(__clang__)
#define QK_SCALAR _Pragma("clang loop vectorize(disable)")
#else
#define QK_SCALAR
#endif

#define QK_RNN_CASE(code, value)                    \
  case code:                                        \
    for (int32_t j = 0; j < n; ++j) v[j] = (value); \
    break;

/* Applies activation `at` of the parameters. */
QK_SHARED void qk_rnn_activate(const qk_rnn_params* p, int32_t at, float* v, int32_t n) {
  const float alpha = p->alpha[at], beta = p->beta[at];
  switch (p->activation[at]) {
    QK_RNN_CASE(QK_RNN_SIGMOID, qn_sigmoid_f32(v[j]))
    QK_RNN_CASE(QK_RNN_TANH, qn_tanh_f32(v[j]))
    QK_RNN_CASE(QK_RNN_RELU, qn_relu_f32(v[j]))
    QK_RNN_CASE(QK_RNN_HARD_SIGMOID, qn_hard_sigmoid_f32(v[j], alpha, beta))
    QK_RNN_CASE(QK_RNN_LEAKY_RELU, qn_leaky_relu_f32(v[j], alpha, beta))
    QK_RNN_CASE(QK_RNN_ELU, qn_elu_f32(v[j], alpha, beta))
    QK_RNN_CASE(QK_RNN_SOFTSIGN, qn_softsign_f32(v[j]))
    case QK_RNN_SOFTPLUS:
      QK_SCALAR for (int32_t j = 0; j < n; ++j) v[j] = qn_softplus_f32(v[j]);
      break;
      QK_RNN_CASE(QK_RNN_AFFINE, qn_affine_f32(v[j], alpha, beta))
      QK_RNN_CASE(QK_RNN_SCALED_TANH, qn_scaled_tanh_f32(v[j], alpha, beta))
      QK_RNN_CASE(QK_RNN_THRESHOLDED_RELU, qn_thresholded_relu_f32(v[j], alpha, beta))
    default:
      break;
  }
}

QK_INLINE void qk_rnn_state(const qk_rnn_params* p, int32_t activation, float* gates, float* h) {
  const int32_t n = p->hidden;
  qk_rnn_limit(p->clip, gates, n);
  qk_rnn_activate(p, activation, gates, n);
  for (int32_t j = 0; j < n; ++j) h[j] = gates[j];
}

/* Gates z and r of a gru, into z [2 hidden]. */
QK_INLINE void qk_gru_gates(const qk_rnn_params* p, int32_t activation, const float* gates,
                            float* z) {
  const int32_t n = p->hidden;
  for (int32_t j = 0; j < 2 * n; ++j) z[j] = gates[j];
  qk_rnn_limit(p->clip, z, 2 * n);
  qk_rnn_activate(p, activation, z, 2 * n);
}

/* The next state from gate z and the pre-activations a of gate h. */
QK_INLINE void qk_gru_state(const qk_rnn_params* p, int32_t activation, const float* z, float* a,
                            float* h) {
  const int32_t n = p->hidden;
  qk_rnn_limit(p->clip, a, n);
  qk_rnn_activate(p, activation + 1, a, n);
  for (int32_t j = 0; j < n; ++j) h[j] = qn_fmaf(z[j], h[j], qn_mulf(1.0f - z[j], a[j]));
}

/* The next states from pre-activations i, o, f, c. */
QK_INLINE void qk_lstm_state(const qk_rnn_params* p, int32_t activation, const float* pi,
                             float* gates, float* h, float* c) {
  const int32_t n = p->hidden;
  float *i = gates, *o = gates + n, *f = gates + 2 * n, *g = gates + 3 * n;
  for (int32_t j = 0; j < n && pi; ++j) {
    i[j] = qn_fmaf(pi[j], c[j], i[j]);
    f[j] = qn_fmaf(pi[2 * n + j], c[j], f[j]);
  }
  qk_rnn_limit(p->clip, i, n);
  qk_rnn_limit(p->clip, f, 2 * n);
  qk_rnn_activate(p, activation, i, n);
  qk_rnn_activate(p, activation, f, n);
  for (int32_t j = 0; j < n && p->input_forget; ++j) f[j] = 1.0f - i[j];
  qk_rnn_activate(p, activation + 1, g, n);
  for (int32_t j = 0; j < n; ++j) c[j] = qn_fmaf(f[j], c[j], qn_mulf(i[j], g[j]));
  for (int32_t j = 0; j < n && pi; ++j) o[j] = qn_fmaf(pi[n + j], c[j], o[j]);
  qk_rnn_limit(p->clip, o, n);
  qk_rnn_activate(p, activation, o, n);
  for (int32_t j = 0; j < n; ++j) g[j] = c[j];
  qk_rnn_activate(p, activation + 2, g, n);
  for (int32_t j = 0; j < n; ++j) h[j] = qn_mulf(o[j], g[j]);
}

#endif
