#ifndef QK_EPILOGUE_H
#define QK_EPILOGUE_H
#include <stdint.h>

/* Stages: what products do with an accumulator before they store it, in the order they are listed.
 * A call carries them as a list; kernels have the members of the stages they take, by the same
 * names, in their parameter structs. docs/arithmetic.md has the contract of each stage.
 *
 * rescale       to a code from lo to hi: float_bias times bias_factor is added, then times the
 *               channel's multiplier; with q31 that is a pair of mantissa and shift
 * rescale_each  the same with a zero point for each channel in place of y_zero
 * dequantize    to a float: times the channel's multiplier (and the scale of x where only a run
 *               knows it), then float_bias is added, a rounding of its own
 * accumulators  the accumulator itself, modulo 2^32
 * add           the code and the residual's are added as kernels/qbinary does: r_kind says how,
 *               r_first whether the product is the first operand
 * add_f32       the float and the residual's are added, then limited to [rlo, rhi] */
typedef struct {
  int32_t y_type, y_zero, lo, hi, q31;
  float bias_factor;
} qk_rescale_stage;

typedef struct {
  int32_t y_type;
  float bias_factor;
} qk_dequantize_stage;

typedef struct {
  int32_t y_type;
  float bias_factor;
} qk_accumulators_stage;

typedef struct {
  int32_t r_kind, r_first, r_type, r_za, r_zb, r_y_type, r_zero, r_lo, r_hi, r_lowest;
  float r_ra, r_rb, r_shift, r_divisor;
  int32_t r_reciprocal;
  int32_t r_ma, r_mb, r_mshift;
} qk_add_stage;

typedef struct {
  float rlo, rhi;
} qk_add_f32_stage;

#endif
