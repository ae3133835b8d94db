/* Speed of recurrent layers of floats in one direction: the best of many runs. */
#include "kernels/common/bench.h"

#include "kernels/gemm/portable.c"
#include "kernels/rnn/portable.c"

/* Steps, sequences, inputs, hidden units. */
static const int32_t shapes[][4] = {{32, 1, 40, 64}, {32, 1, 128, 128}, {16, 8, 64, 96}};

static float* panels(int32_t gates, int32_t hidden, int32_t k) {
  const int32_t n = gates * hidden;
  const qk_gemm_pack_params pack = {1, k, n, n * k, 1, k};
  float* to = qk_random_floats((size_t)((n + 15) / 16 * 16 * k));
  qk_gemm_pack_f32(&pack, qk_random_floats((size_t)(n * k)), to);
  return to;
}

static __attribute__((noinline)) void measure(const int32_t* shape, int32_t gates) {
  const int32_t n = shape[3], states = shape[1] * n;
  const float *w = panels(gates, n, shape[2]), *r = panels(gates, n, n);
  const float* x = qk_random_floats((size_t)(shape[0] * shape[1] * shape[2]));
  const float* bias = qk_random_floats(2 * (size_t)(gates * n));
  float *y = qk_random_floats((size_t)(shape[0] * states)), *h = qk_random_floats((size_t)states);
  float *c = qk_random_floats((size_t)states),
        *scratch = qk_random_floats((size_t)QK_RNN_SCRATCH(gates, n));
  char what[64];
  double best;
  qk_rnn_params p;
  memset(&p, 0, sizeof p);
  p.steps = shape[0];
  p.batch = shape[1];
  p.inputs = shape[2];
  p.hidden = n;
  p.directions = 1;
  p.clip = INFINITY;
  for (int i = 0; i < 6; ++i) p.activation[i] = i % 3 == 0 ? QK_RNN_SIGMOID : QK_RNN_TANH;
  if (gates == 3) {
    QK_BEST(fastest, qk_gru_f32(&p, x, w, r, bias, 0, 0, y, h, scratch))
    best = fastest;
  } else {
    QK_BEST(fastest, qk_lstm_f32(&p, x, w, r, bias, 0, 0, 0, 0, y, h, c, scratch))
    best = fastest;
  }
  snprintf(what, sizeof what, "%s of %d, %d steps of %d, %d at once", gates == 3 ? "gru" : "lstm",
           n, p.steps, p.inputs, p.batch);
  qk_report(what, (double)p.steps * p.batch * gates * n * (p.inputs + n), best);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
    measure(shapes[i], 3);
    measure(shapes[i], 4);
  }
  return 0;
}
QK_TARGET_END
