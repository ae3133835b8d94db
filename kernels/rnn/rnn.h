#ifndef QK_RNN_H
#define QK_RNN_H
#include <stdint.h>

/* Recurrent layers over x [steps, batch, inputs], one direction after the other, sequence by
 * sequence.
 *
 * With a(g) the pre-activation of gate g: one chain that starts at Wb + Rb (0 without a bias),
 * takes the input terms k ascending, then the recurrent terms k ascending, an fma each; then, with
 * peepholes, fma(P, C, a). Pre-activations are limited to [-clip, clip].
 *
 * qk_rnn_f32   H = f(a)
 * qk_gru_f32   gates z, r, h: z = f(a(z)), r = f(a(r)); the chain of h takes round(r H) in place of
 * H, h = g(a(h)). With linear_before_reset it is h = g(fma(r, q, s)), s being the chain of Wb and
 * the input terms, q that of Rb and the recurrent terms. H = fma(z, H, round((1 - z) h))
 * qk_lstm_f32  gates i, o, f, c: C = fma(f(a(f)), C, round(f(a(i)) g(a(c)))), then the peephole of
 * o, H = f(a(o)) h(C); h(C) is not limited. With input_forget f is 1 - i.
 *
 * A sequence b ends after lens[b] steps (limited to [0, steps]; all steps when lens is null): y is
 * 0 from there on, and the backward direction starts at its last step. h and c are the last states.
 *
 * Arguments: x; w and r in panels [directions][ceil(gates * hidden / 16)][k][16]
 * (qk_gemm_pack_f32); bias [directions, 2 * gates * hidden], lens [batch], first h and c
 * [directions, batch, hidden], peepholes i, o, f [directions, 3 * hidden] (each may be null; c and
 * peepholes of lstm only); y [steps, directions, batch, hidden], h, c (lstm), scratch of
 * QK_RNN_SCRATCH floats.
 */
enum {
  QK_RNN_SIGMOID,
  QK_RNN_TANH,
  QK_RNN_RELU,
  QK_RNN_HARD_SIGMOID,
  QK_RNN_LEAKY_RELU,
  QK_RNN_ELU,
  QK_RNN_SOFTSIGN,
  QK_RNN_SOFTPLUS,
  QK_RNN_AFFINE,
  QK_RNN_SCALED_TANH,
  QK_RNN_THRESHOLDED_RELU
};

typedef struct {
  int32_t steps, batch, inputs, hidden;
  int32_t directions; /* the second one runs backward */
  int32_t reverse;    /* the only direction runs backward */
  int32_t linear_before_reset, input_forget;
  int32_t activation[6]; /* three places per direction */
  float alpha[6], beta[6];
  float clip; /* infinity: none */
} qk_rnn_params;

/* Floats of scratch: the gates in whole panels, and four more vectors. */
#define QK_RNN_SCRATCH(gates, hidden) (((gates) * (hidden) + 15) / 16 * 16 + 4 * (hidden))

#endif
