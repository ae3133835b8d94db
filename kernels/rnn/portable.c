#include <stddef.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/common/vec16.h"
#include "kernels/rnn/cell.h"
#include "kernels/rnn/rnn.h"

/* Continues the chains acc[16 * from ... 16 * to) by the products of v [n] with panels of w. */
QK_SUMS void qk_rnn_chain(const float* w, const float* v, int32_t n, float* acc, int32_t from,
                          int32_t to) {
  const ptrdiff_t panel = (ptrdiff_t)n * 16;
  const float* wp = w + from * panel;
  float* a = acc + (ptrdiff_t)from * 16;
  int32_t left = to - from;
  for (; QK_VEC16_REGISTERS && left >= 4; left -= 4, wp += 4 * panel, a += 64) {
    qk_v16 a0 = qk_v16_load(a), a1 = qk_v16_load(a + 16);
    qk_v16 a2 = qk_v16_load(a + 32), a3 = qk_v16_load(a + 48);
    for (int32_t k = 0; k < n; ++k) {
      const float* wk = wp + (ptrdiff_t)k * 16;
      qk_v16_mac(&a0, v[k], qk_v16_load(wk));
      qk_v16_mac(&a1, v[k], qk_v16_load(wk + panel));
      qk_v16_mac(&a2, v[k], qk_v16_load(wk + 2 * panel));
      qk_v16_mac(&a3, v[k], qk_v16_load(wk + 3 * panel));
    }
    qk_v16_store(a, a0);
    qk_v16_store(a + 16, a1);
    qk_v16_store(a + 32, a2);
    qk_v16_store(a + 48, a3);
  }
  for (; left > 0; --left, wp += panel, a += 16) {
    qk_v16 a0 = qk_v16_load(a);
    for (int32_t k = 0; k < n; ++k) {
      qk_v16_mac(&a0, v[k], qk_v16_load(wp + (ptrdiff_t)k * 16));
    }
    qk_v16_store(a, a0);
  }
}

/* Starts the chains of n gates at the biases; lanes beyond n at 0. */
QK_INLINE void qk_rnn_start(const float* bias, int32_t n, int32_t padded, float* acc) {
  for (int32_t j = 0; j < n; ++j) acc[j] = bias ? bias[j] + bias[n + j] : 0.0f;
  for (int32_t j = n; j < padded; ++j) acc[j] = 0.0f;
}

/* One direction's operands. */
typedef struct qk_rnn_side {
  const float *w, *r, *bias, *peepholes;
  int32_t panels, activation;
} qk_rnn_side;

QK_INLINE void qk_rnn_step(const qk_rnn_params* p, const qk_rnn_side* s, const float* x, float* h,
                           float* c, float* gates) {
  const int32_t n = p->hidden;
  (void)c;
  qk_rnn_start(s->bias, n, s->panels * 16, gates);
  qk_rnn_chain(s->w, x, p->inputs, gates, 0, s->panels);
  qk_rnn_chain(s->r, h, n, gates, 0, s->panels);
  qk_rnn_state(p, s->activation, gates, h);
}

QK_INLINE void qk_gru_step(const qk_rnn_params* p, const qk_rnn_side* s, const float* x, float* h,
                           float* c, float* gates) {
  const int32_t n = p->hidden;
  float* last = gates + 2 * n; /* gate h */
  float *z = gates + s->panels * 16, *r = z + n, *a = r + n, *reset = a + n;
  (void)c;
  qk_rnn_start(s->bias, 3 * n, s->panels * 16, gates);
  for (int32_t j = 0; j < n && p->linear_before_reset && s->bias; ++j) last[j] = s->bias[2 * n + j];
  qk_rnn_chain(s->w, x, p->inputs, gates, 0, s->panels);
  for (int32_t j = 0; j < n; ++j) a[j] = last[j];
  for (int32_t j = 0; j < n && p->linear_before_reset; ++j)
    last[j] = s->bias ? s->bias[5 * n + j] : 0.0f;
  qk_rnn_chain(s->r, h, n, gates, 0, p->linear_before_reset ? s->panels : (2 * n + 15) / 16);
  qk_gru_gates(p, s->activation, gates, z);
  if (p->linear_before_reset) {
    for (int32_t j = 0; j < n; ++j) a[j] = qn_fmaf(r[j], last[j], a[j]);
  } else {
    for (int32_t j = 0; j < n; ++j) {
      reset[j] = qn_mulf(r[j], h[j]);
      last[j] = a[j];
    }
    qk_rnn_chain(s->r, reset, n, gates, 2 * n / 16, s->panels);
    for (int32_t j = 0; j < n; ++j) a[j] = last[j];
  }
  qk_gru_state(p, s->activation, z, a, h);
}

QK_INLINE void qk_lstm_step(const qk_rnn_params* p, const qk_rnn_side* s, const float* x, float* h,
                            float* c, float* gates) {
  const int32_t n = p->hidden;
  qk_rnn_start(s->bias, 4 * n, s->panels * 16, gates);
  qk_rnn_chain(s->w, x, p->inputs, gates, 0, s->panels);
  qk_rnn_chain(s->r, h, n, gates, 0, s->panels);
  qk_lstm_state(p, s->activation, s->peepholes, gates, h, c);
}

#define QK_WITH rnn, 1
#include "kernels/rnn/walk.inc"
#define QK_WITH gru, 3
#include "kernels/rnn/walk.inc"
#define QK_WITH lstm, 4
#include "kernels/rnn/walk.inc"

QK_INLINE void qk_rnn_f32(const qk_rnn_params* p, const float* x, const float* w, const float* r,
                          const float* bias, const int32_t* lens, const float* h0, float* y,
                          float* h, float* scratch) {
  qk_walk_rnn(p, x, w, r, bias, lens, h0, 0, 0, y, h, 0, scratch);
}

QK_INLINE void qk_gru_f32(const qk_rnn_params* p, const float* x, const float* w, const float* r,
                          const float* bias, const int32_t* lens, const float* h0, float* y,
                          float* h, float* scratch) {
  qk_walk_gru(p, x, w, r, bias, lens, h0, 0, 0, y, h, 0, scratch);
}

QK_INLINE void qk_lstm_f32(const qk_rnn_params* p, const float* x, const float* w, const float* r,
                           const float* bias, const int32_t* lens, const float* h0, const float* c0,
                           const float* peepholes, float* y, float* h, float* c, float* scratch) {
  qk_walk_lstm(p, x, w, r, bias, lens, h0, c0, peepholes, y, h, c, scratch);
}
