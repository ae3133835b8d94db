#ifndef QK_QBINARY_H
#define QK_QBINARY_H
#include <stdint.h>

/* Codes y of the sum (difference, product) of codes a and b with broadcasting, walked as
 * qk_broadcast2_params. Types are those of kernels/common/codes.h. The formulas are in
 * kernels/numerics/quant_combine.h:
 *
 * qk_qadd       ra, rb: the operands' scales over the result's
 * qk_qadd_ort   as ONNX Runtime's QLinearAdd; `shift` is qn_add_codes_shift, `lowest` the type's
 *               lowest code
 * qk_qadd_f32   ra, rb: the operands' scales; decoded, added and encoded with `divisor`, which is a
 *               reciprocal with `reciprocal`
 * qk_qadd_q31   integers only; ma, mb and mshift are the ratios as qn_q31_pair has them
 * qk_qmul, qk_qmul_ort, qk_qmul_f32, qk_qmul_q31   the same for products; ra is the multiplier of
 *               the first two, ma * 2^-mshift that of the last
 *
 * y may be an operand of its type that is walked like y itself. Arguments: a, b, y. */
typedef struct {
  int32_t rank; /* 1 to 8 */
  int32_t dims[8];
  int32_t a[8], b[8];
  int32_t type_a, type_b, type_y;
  int32_t za, zb, zero, lo, hi, lowest;
  float ra, rb, shift, divisor;
  int32_t reciprocal;
  int32_t ma, mb, mshift;
} qk_qbinary_params;

#endif
