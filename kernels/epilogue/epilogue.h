#ifndef QK_EPILOGUE_H
#define QK_EPILOGUE_H
#include <stdint.h>

/* Stages: what kernels do with a result before they store it, in the order they are listed. A call
 * carries them as a list; the parameter struct of a kernel has the struct of each stage it takes as
 * a member, products of codes all of them as a qk_epilogue. docs/arithmetic.md has the contract of
 * each stage.
 *
 * rescale       to a code from lo to hi: float_bias times bias_factor is added, then times the
 *               channel's multiplier; with q31 that is a pair of mantissa and shift
 * rescale_each  the same with a zero point for each channel in place of `zero`
 * dequantize    to a float: times the channel's multiplier (and the scale of x where only a run
 *               knows it), then float_bias is added, a rounding of its own
 * accumulators  the accumulator itself, modulo 2^32
 * add           the code and the residual's are added as kernels/qbinary does
 * add_f32       the float and the residual's are added, then limited to [lo, hi] */

/* What accumulators become: of the first four stages one, told apart by the type of the result
 * (kernels/common/codes.h). Those to floats and accumulators need no zero point and no limits. */
typedef struct {
  int32_t type, zero, lo, hi, q31;
  float bias_factor;
} qk_result_stage;

/* Kinds of residual addition: those of qk_qadd, qk_qadd_ort, qk_qadd_f32, qk_qadd_q31. */
enum { QK_R_EXACT, QK_R_ORT, QK_R_F32, QK_R_Q31 };

/* `kind` is how codes are added (QK_R_EXACT, ..), `first` whether the product is the first operand,
 * `type` that of the residual. The rest is as in kernels/qbinary/qbinary.h. */
typedef struct {
  int32_t kind, first, type, za, zb, y_type, zero, lo, hi, lowest;
  float ra, rb, shift, divisor;
  int32_t reciprocal;
  int32_t ma, mb, mshift;
} qk_add_stage;

typedef struct {
  float lo, hi;
} qk_add_f32_stage;

/* The epilogue of products of codes. */
typedef struct {
  qk_result_stage result;
  qk_add_stage add;
} qk_epilogue;

/* Where kernels that store their floats as codes have scales from;
 * kernels/common/quantize_epilogue.h. Of kernels that may store them otherwise: QK_NO_EPILOGUE. */
enum { QK_STATIC, QK_PER_TOKEN, QK_PER_TENSOR, QK_NO_EPILOGUE };

/* How kernels that compute floats store them as codes; kernels/common/quantize_epilogue.h says what
 * each member is. */
typedef struct {
  int32_t mode, lo, hi, symmetric, reciprocal, size, keep, batch, span;
  int32_t axis, inner, group, s_outer, s_axis, s_inner;
} qk_quantize_out;

#endif
