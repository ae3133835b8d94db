/* Convolutions of channels-last codes on tensor cores, a block of threads for a tile of outputs;
 * products are convolutions of one tap. */
#ifndef QK_QCONV_MMA_H
#define QK_QCONV_MMA_H
#include <stdint.h>

/* y [n, positions, oc] of x [n, positions, ic], codes i8 or u8, and w
 * [oc rounded up to `tile`][taps * ic rounded up to 64] i8, zeros beyond, with the sum of the
 * weights of each output behind it (i32): what a zero point of x takes away. `tile` is 128 or 64,
 * outputs along both sides of a block. With `per_row` there is a scale, and a zero point, for each
 * position. The rest is as in kernels/qconv/qconv.h. */
typedef struct {
  int32_t n, ic, oc;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3];
  int32_t tile, per_row;
  int32_t x_type, x_zero;
  int32_t y_type, y_zero, lo, hi, q31;
  float bias_factor;
  int32_t r_kind, r_first, r_type, r_za, r_zb, r_y_type, r_zero, r_lo, r_hi, r_lowest;
  float r_ra, r_rb, r_shift, r_divisor;
  int32_t r_reciprocal;
  int32_t r_ma, r_mb, r_mshift;
} qk_qconv_mma_params;

#endif
