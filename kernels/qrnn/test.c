/* Recurrent layers on codes of 8 bits with weights in panels against those with weights as they
 * are: sizes that fill no panel and no pair, sequences that end early, both directions.
 * arithmetic.md: Q40 */
#include "kernels/common/testing.h"
#include "kernels/qgemm/portable.c"
#include "kernels/qrnn/portable.c"

enum { MOST = 40, STEPS = 4, BATCH = 3 };

/* Panels of weights [2 * gates][hidden][k]. */
static int8_t* packed(const uint8_t* w, int32_t gates, int32_t hidden, int32_t k) {
  const qk_qgemm_pack_params pack = {2 * gates, k, hidden, hidden * k, 1, k, 0};
  const size_t panels = (size_t)((hidden + 15) / 16), pairs = (size_t)((k + 1) / 2);
  uint8_t* to = qk_random_bytes(2 * (size_t)gates * panels * pairs * 32);
  qk_qgemm_pack(&pack, w, to);
  return (int8_t*)to;
}

static qk_qrnn_params parameters(int32_t gates) {
  qk_qrnn_params p;
  memset(&p, 0, sizeof p);
  p.steps = qk_random_in(1, STEPS);
  p.batch = qk_random_in(1, BATCH);
  p.inputs = qk_random_in(1, MOST);
  p.hidden = qk_random_in(1, MOST);
  p.directions = 2;
  p.linear_before_reset = qk_random_in(0, 1);
  p.clip = INFINITY;
  for (int i = 0; i < 6; ++i) {
    p.activation[i] = gates > 1 && i % 3 == 0 ? QK_RNN_SIGMOID : QK_RNN_TANH;
  }
  p.type_x = qk_random_in(0, 1) ? QK_U8 : QK_I8;
  p.type_h = qk_random_in(0, 1) ? QK_U8 : QK_I8;
  p.zx = p.type_x == QK_U8 ? 77 : -5;
  p.zh = p.type_h == QK_U8 ? 128 : 3;
  p.lo = p.type_h == QK_U8 ? 0 : -128;
  p.hi = p.lo + 255;
  p.scale_h = 0.0078f;
  p.reciprocal = qk_random_in(0, 1);
  p.divisor = p.reciprocal ? 1.0f / p.scale_h : p.scale_h;
  return p;
}

static void check(int32_t gates) {
  const qk_qrnn_params p = parameters(gates);
  const int32_t n = p.hidden, in = p.inputs;
  const int32_t sizes[] = {gates, p.steps, p.batch, in, n, p.linear_before_reset};
  const size_t rows = (size_t)(gates * n), states = (size_t)(2 * p.batch * n);
  const size_t results = (size_t)p.steps * states;
  uint8_t *x = qk_random_bytes((size_t)(p.steps * p.batch * in)), *h0 = qk_random_bytes(states);
  uint8_t *w = qk_random_bytes(2 * rows * (size_t)in), *r = qk_random_bytes(2 * rows * (size_t)n);
  int8_t *wp = packed(w, gates, n, in), *rp = packed(r, gates, n, n);
  float *mx = qk_random_floats(rows), *mh = qk_random_floats(rows);
  float *bias = qk_random_floats(4 * rows), *c0 = qk_random_floats(states);
  float* floats = qk_random_floats((size_t)QK_QRNN_FLOATS(gates, n));
  uint8_t *y[2], *h[2];
  float* c[2];
  static int32_t codes[QK_QRNN_CODES(MOST, MOST)], accumulators[QK_QRNN_ACCUMULATORS(4, MOST)];
  static int16_t narrow[QK_QRNN_CODES(MOST, MOST)];
  int32_t lens[BATCH];
  for (size_t i = 0; i < rows; ++i) {
    mx[i] *= 1e-3f;
    mh[i] *= 1e-3f;
  }
  for (int i = 0; i < BATCH; ++i) lens[i] = qk_random_in(0, p.steps);
  for (int i = 0; i < 2; ++i) {
    y[i] = qk_random_bytes(results);
    h[i] = qk_random_bytes(states);
    c[i] = qk_random_floats(states);
  }
#define RUN(cell, c0, c)                                                                         \
  qk_q##cell##_rows(&p, x, w, r, mx, mh, bias, lens, h0, c0, 0, y[0], h[0], c[0], floats, codes, \
                    0);                                                                          \
  qk_q##cell##_panels(&p, x, wp, rp, mx, mh, bias, lens, h0, c0, 0, y[1], h[1], c[1], floats,    \
                      narrow, accumulators)
  float* none[2] = {0, 0};
  if (gates == 1) {
    RUN(rnn, 0, none);
  } else if (gates == 3) {
    RUN(gru, 0, none);
  } else {
    RUN(lstm, c0, c);
    qk_expect_same("c", c[1], c[0], 4 * states, sizes, 6);
  }
  qk_expect_same("y", y[1], y[0], results, sizes, 6);
  qk_expect_same("h", h[1], h[0], states, sizes, 6);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 40; ++i) {
    check(1);
    check(3);
    check(4);
  }
  return 0;
}
QK_TARGET_END
