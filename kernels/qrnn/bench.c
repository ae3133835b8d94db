/* Speed of GRUs on codes of 8 bits, with weights in panels and as they are: the best of many runs.
 */
#include "kernels/common/bench.h"

#include "kernels/qgemm/portable.c"
#include "kernels/qrnn/portable.c"

enum { GATES = 3, MOST = 128 };
/* Steps, sequences, inputs, hidden units. */
static const int32_t shapes[][4] = {{32, 1, 40, 64}, {32, 1, 128, 128}, {16, 8, 64, 96}};

static int8_t* panels(const uint8_t* w, int32_t hidden, int32_t k) {
  const qk_qgemm_pack_params pack = {GATES, k, hidden, hidden * k, 1, k, 0};
  uint8_t* to = qk_random_bytes((size_t)(GATES * ((hidden + 15) / 16) * ((k + 1) / 2) * 32));
  qk_qgemm_pack(&pack, w, to);
  return (int8_t*)to;
}

static __attribute__((noinline)) void measure(const int32_t* shape) {
  static int32_t codes[QK_QRNN_CODES(MOST, MOST)], accumulators[QK_QRNN_ACCUMULATORS(GATES, MOST)];
  static int16_t narrow[QK_QRNN_CODES(MOST, MOST)];
  const int32_t n = shape[3], in = shape[2], rows = GATES * n, states = shape[1] * n;
  const uint8_t *w = qk_random_bytes((size_t)(rows * in)), *r = qk_random_bytes((size_t)(rows * n));
  const int8_t *wp = panels(w, n, in), *rp = panels(r, n, n);
  const uint8_t* x = qk_random_bytes((size_t)(shape[0] * shape[1] * in));
  uint8_t *y = qk_random_bytes((size_t)(shape[0] * states)), *h = qk_random_bytes((size_t)states);
  float *m = qk_random_floats((size_t)rows), *bias = qk_random_floats(2 * (size_t)rows);
  float* floats = qk_random_floats((size_t)QK_QRNN_FLOATS(GATES, n));
  char what[64];
  qk_qrnn_params p;
  memset(&p, 0, sizeof p);
  p.steps = shape[0];
  p.batch = shape[1];
  p.inputs = in;
  p.hidden = n;
  p.directions = 1;
  p.linear_before_reset = 1;
  p.clip = INFINITY;
  for (int i = 0; i < 6; ++i) p.activation[i] = i % 3 == 0 ? QK_RNN_SIGMOID : QK_RNN_TANH;
  p.type_x = p.type_h = QK_I8;
  p.lo = -128;
  p.hi = 127;
  p.scale_h = p.divisor = 0.0078f;
  for (int32_t i = 0; i < rows; ++i) m[i] *= 1e-3f;
  {
    const double macs = (double)p.steps * p.batch * rows * (in + n);
    QK_BEST(packed, qk_qgru_panels(&p, x, wp, rp, m, m, bias, 0, 0, 0, 0, y, h, 0, floats, narrow,
                                   accumulators))
    QK_BEST(plain, qk_qgru_rows(&p, x, w, r, m, m, bias, 0, 0, 0, 0, y, h, 0, floats, codes, 0))
    snprintf(what, sizeof what, "qgru of %d, %d steps of %d, %d at once", n, p.steps, in, p.batch);
    qk_report(what, macs, packed);
    qk_report("  weights as they are", macs, plain);
  }
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) measure(shapes[i]);
  return 0;
}
QK_TARGET_END
