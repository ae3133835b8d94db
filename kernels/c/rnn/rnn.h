#ifndef QK_RNN_H
#define QK_RNN_H
#include <stdint.h>

/* Recurrent layers in one direction: x [steps, batch, inputs], weights w [gates*hidden, inputs + hidden]
 * in panels (qk_rnn_pack_f32), bias [gates*hidden] (input and recurrent bias already added, but for
 * gru with `reset_after`, whose bias is [4*hidden]: z, r, h from inputs, h from the state).
 *
 * A gate is one chain of fused multiply-adds that starts at its bias and takes the inputs, then the
 * state, ascending; limited to [-clip, clip] where clip > 0; then its activation.
 *   rnn   h = f(gate)
 *   lstm  gates i, o, f, c: c' = f*c + i*g (i*g rounded, fused with f*c), h = o * act(c'). Peepholes
 *         (i, o, f; may be null) add peephole*c to i and f and peephole*c' to o, fused. With `couple`
 *         f = 1 - i
 *   gru   gates z, r, h: h' = z*h + (1 - z)*g, where g's chain goes on over r*h, or with reset_after is
 *         g = act(r * (chain over the state) + (chain over the inputs))
 * A row of the batch stops after lens[b] steps (lens may be null): its later outputs are 0 and its
 * state stays. `reverse` goes from the last step (of each row) to the first.
 * Arguments: x, w, bias (may be null), peepholes, lens, h0, c0 (may be null); y, last h, last c (may be
 * null), work: f32 [batch * (inputs + hidden + gates*hidden + hidden)].
 */
typedef struct {
  int32_t steps, batch, inputs, hidden, gates;
  int32_t reverse, couple, reset_after;
  int32_t act[3];
  float alpha[3], beta[3];
  float clip;
} qk_rnn_params;

/* w [rows, inputs] and r [rows, hidden] side by side in panels [rows / 16 rounded up][inputs + hidden][16],
 * each gate of `hidden` rows on its own: gates follow each other with hidden rounded up to 16 rows. */
typedef struct {
  int32_t gates, hidden, inputs;
} qk_rnn_pack_params;

/* bias [2 * gates*hidden] as the model has it to what the layers read: both halves added, with
 * reset_after (gru) the last gate kept apart. */
typedef struct {
  int32_t gates, hidden, reset_after;
} qk_rnn_bias_params;

enum {
  QK_ACT_SIGMOID,
  QK_ACT_TANH,
  QK_ACT_RELU,
  QK_ACT_AFFINE,
  QK_ACT_LEAKY_RELU,
  QK_ACT_THRESHOLDED_RELU,
  QK_ACT_SCALED_TANH,
  QK_ACT_HARD_SIGMOID,
  QK_ACT_ELU,
  QK_ACT_SOFTSIGN,
  QK_ACT_SOFTPLUS
};

#endif
