/* Recurrent layers against plain loops over one chain per gate: hidden sizes that fill no panel,
 * sequences that end early, both directions.
 * arithmetic.md: S12 */
#include "kernels/common/testing.h"
#include "kernels/gemm/portable.c"
#include "kernels/rnn/portable.c"

typedef struct layer {
  int32_t steps, batch, inputs, hidden, gates;
  const float *x, *w, *r, *bias; /* w [gates * hidden, inputs], r [gates * hidden, hidden] */
} layer;

/* The pre-activation of gate g of unit j: the bias, the inputs, the states. */
static float chain(const layer* l, int32_t d, const float* x, const float* h, int32_t g,
                   int32_t j) {
  const int32_t n = l->hidden, row = d * l->gates * n + g * n + j;
  const float* b = l->bias + d * 2 * l->gates * n;
  float a = b[g * n + j] + b[(l->gates + g) * n + j];
  for (int32_t i = 0; i < l->inputs; ++i) a = fmaf(l->w[row * l->inputs + i], x[i], a);
  for (int32_t i = 0; i < n; ++i) a = fmaf(l->r[row * n + i], h[i], a);
  return a;
}

/* One step of a sequence: the new h and c. */
static void step(const layer* l, int32_t d, const float* x, float* h, float* c) {
  float next[64];
  for (int32_t j = 0; j < l->hidden; ++j) {
    if (l->gates == 1) {
      next[j] = qn_tanh_f32(chain(l, d, x, h, 0, j));
    } else if (l->gates == 4) {
      const float i = qn_sigmoid_f32(chain(l, d, x, h, 0, j));
      const float o = qn_sigmoid_f32(chain(l, d, x, h, 1, j));
      const float f = qn_sigmoid_f32(chain(l, d, x, h, 2, j));
      c[j] = fmaf(f, c[j], i * qn_tanh_f32(chain(l, d, x, h, 3, j)));
      next[j] = o * qn_tanh_f32(c[j]);
    } else {
      float reset[64];
      const float z = qn_sigmoid_f32(chain(l, d, x, h, 0, j));
      for (int32_t i = 0; i < l->hidden; ++i) {
        reset[i] = qn_sigmoid_f32(chain(l, d, x, h, 1, i)) * h[i];
      }
      next[j] = fmaf(z, h[j], (1.0f - z) * qn_tanh_f32(chain(l, d, x, reset, 2, j)));
    }
  }
  memcpy(h, next, 4 * (size_t)l->hidden);
}

static void check(int32_t gates) {
  layer l = {qk_random_in(1, 4),
             qk_random_in(1, 3),
             qk_random_in(1, 20),
             qk_random_in(1, 37),
             gates,
             0,
             0,
             0,
             0};
  const int32_t n = l.hidden, directions = 2, rows = directions * gates * n;
  const int32_t panels = (gates * n + 15) / 16 * 16,
                sizes[] = {gates, l.steps, l.batch, l.inputs, n};
  const qk_gemm_pack_params pack_w = {directions,           l.inputs, gates * n,
                                      gates * n * l.inputs, 1,        l.inputs};
  const qk_gemm_pack_params pack_r = {directions, n, gates * n, gates * n * n, 1, n};
  const size_t results = (size_t)(l.steps * directions * l.batch * n),
               states = (size_t)(directions * l.batch * n);
  float *w = qk_random_floats((size_t)(directions * panels * l.inputs)),
        *r = qk_random_floats((size_t)(directions * panels * n));
  float *y = qk_random_floats(results), *expected = qk_random_floats(results);
  float *h = qk_random_floats(states), *c = qk_random_floats(states);
  float* scratch = qk_random_floats((size_t)QK_RNN_SCRATCH(gates, n));
  int32_t lens[3];
  qk_rnn_params p;
  memset(&p, 0, sizeof p);
  p.steps = l.steps;
  p.batch = l.batch;
  p.inputs = l.inputs;
  p.hidden = n;
  p.directions = directions;
  p.clip = INFINITY;
  for (int i = 0; i < 6; ++i)
    p.activation[i] = gates > 1 && i % 3 == 0 ? QK_RNN_SIGMOID : QK_RNN_TANH;
  for (int i = 0; i < 3; ++i) lens[i] = qk_random_in(0, l.steps);
  l.x = qk_random_floats((size_t)(l.steps * l.batch * l.inputs));
  l.w = qk_random_floats((size_t)(rows * l.inputs));
  l.r = qk_random_floats((size_t)(rows * n));
  l.bias = qk_random_floats(2 * (size_t)rows);
  qk_gemm_pack_f32(&pack_w, l.w, w);
  qk_gemm_pack_f32(&pack_r, l.r, r);
  if (gates == 1) qk_rnn_f32(&p, l.x, w, r, l.bias, lens, 0, y, h, scratch);
  if (gates == 3) qk_gru_f32(&p, l.x, w, r, l.bias, lens, 0, y, h, scratch);
  if (gates == 4) qk_lstm_f32(&p, l.x, w, r, l.bias, lens, 0, 0, 0, y, h, c, scratch);
  memset(expected, 0, 4 * results);
  for (int32_t d = 0; d < directions; ++d) {
    for (int32_t b = 0; b < l.batch; ++b) {
      float now[64] = {0}, cell[64] = {0};
      for (int32_t i = 0; i < lens[b]; ++i) {
        const int32_t t = d ? lens[b] - 1 - i : i;
        step(&l, d, l.x + (t * l.batch + b) * l.inputs, now, cell);
        memcpy(expected + ((t * directions + d) * l.batch + b) * n, now, 4 * (size_t)n);
      }
      qk_expect_same("h", h + (d * l.batch + b) * n, now, 4 * (size_t)n, sizes, 5);
      if (gates == 4) qk_expect_same("c", c + (d * l.batch + b) * n, cell, 4 * (size_t)n, sizes, 5);
    }
  }
  qk_expect_same("y", y, expected, 4 * results, sizes, 5);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 30; ++i) {
    check(1);
    check(3);
    check(4);
  }
  return 0;
}
QK_TARGET_END
