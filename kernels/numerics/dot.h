/* One step of a float dot product: sum + a * b.
 *
 * By default it is a fused multiply-add, one rounding. With QN_DOT_MUL_ADD, for cores that have no
 * such instruction, the product is rounded and then the sum. Which of them is a property of the
 * program (`dot` in docs/arithmetic.md), so whoever generates code defines it, and no option of a
 * compiler does.
 */
#ifndef QN_DOT_H
#define QN_DOT_H

#include "kernels/numerics/base.h"

QN_FN float qn_dot_step_f32(float a, float b, float sum) {
#if defined(QN_DOT_MUL_ADD)
  return qn_mulf(a, b) + sum;
#else
  return qn_fmaf(a, b, sum);
#endif
}
QN_FN double qn_dot_step_f64(double a, double b, double sum) {
#if defined(QN_DOT_MUL_ADD)
  return qn_mul(a, b) + sum;
#else
  return qn_fma(a, b, sum);
#endif
}

#endif
