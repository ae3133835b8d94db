#ifndef QK_QRNN_H
#define QK_QRNN_H
#include <stdint.h>

/* The recurrent layers of kernels/rnn/rnn.h on codes: weights, x and the state h are codes,
 * accumulators of gates exact integers, gate functions and the state c f32. Members as in
 * qk_rnn_params come first; types are those of kernels/common/codes.h.
 *
 * The chain of gate g: v = Wb + Rb; v = fma(f32(sum (x - zx) w[g]), mx[g], v);
 * v = fma(f32(sum (h - zh) r[g]), mh[g], v). h, and r H of a gru where it is summed, become codes
 * as encoding with `divisor` (a reciprocal with `reciprocal`) has it; h is then the value of its
 * code. With `wide` accumulators take 64 bits. Zero points of weights are 0.
 *
 * Arguments: x, w and r, mx and mh [gates * hidden], bias, lens, h0 (codes), c0, peepholes; y
 * (codes), h (codes), c, scratch of QK_QRNN_FLOATS floats, scratch of QK_QRNN_CODES codes less
 * their zero points. bias, lens, h0, c0 and peepholes may be null; c is for lstm only.
 *
 * - qk_q*_rows: w [directions, gates * hidden, inputs] and r likewise, codes of any type; scratch
 *   of codes is i32.
 * - qk_q*_panels: w and r of i8 in panels [directions * gates][ceil(hidden / 16)][pairs of
 *   k][16][2] (qk_qgemm_pack), x and h of 8 bits, accumulators that fit 32 bits; scratch of
 *   codes is i16; then scratch of QK_QRNN_ACCUMULATORS i32. */
typedef struct {
  int32_t steps, batch, inputs, hidden;
  int32_t directions, reverse;
  int32_t linear_before_reset, input_forget;
  int32_t activation[6];
  float alpha[6], beta[6];
  float clip;
  int32_t type_x, type_w, type_r, type_h;
  int32_t zx, zh, lo, hi;
  float scale_h, divisor;
  int32_t reciprocal, wide;
} qk_qrnn_params;

#define QK_QRNN_FLOATS(gates, hidden) (((gates) + 5) * (hidden))
/* Of h, of r H and of x, each filled up to whole pairs. */
#define QK_QRNN_CODES(inputs, hidden) (((inputs) + 1) / 2 * 2 + ((hidden) + 1) / 2 * 4)
#define QK_QRNN_ACCUMULATORS(gates, hidden) ((gates) * (((hidden) + 15) / 16 * 16))

#endif
