/* Two codes to one, and means of codes: one function per formula of docs/arithmetic.md. */
#ifndef QN_QUANT_COMBINE_H
#define QN_QUANT_COMBINE_H

#include "kernels/numerics/quant.h"

/* v rounded half to even, limited to lo..hi, the zero point being part of v already; what does not
 * fit 32 bits, and a NaN, is the lowest code of the type as x86 conversions have it. */
QN_FN int32_t qn_code_shifted(float v, int32_t lowest, int32_t lo, int32_t hi) {
  int32_t code = lowest;
  if (v >= -2147483648.0f && v < 2147483648.0f) code = (int32_t)qn_round_f32(v);
  code = code < lo ? lo : code;
  return code > hi ? hi : code;
}

/* ---- sums; a difference has a negative rb (or sb) ---- */

/* ra and rb are the operands' scales over the result's. */
QN_FN int32_t qn_add_codes(int32_t a, int32_t b, int32_t za, int32_t zb, float ra, float rb,
                           int32_t zero, int32_t lo, int32_t hi) {
  const float first = qn_mulf((float)(a - za), ra);
  return qn_code(qn_fmaf((float)(b - zb), rb, first), zero, lo, hi);
}

/* What ONNX Runtime's QLinearAdd adds to the raw codes: zero - (ra * za + rb * zb), fused. */
QN_FN float qn_add_codes_shift(int32_t za, int32_t zb, float ra, float rb, int32_t zero) {
  return (float)zero - qn_fmaf(ra, (float)za, qn_mulf(rb, (float)zb));
}
QN_FN int32_t qn_add_codes_ort(int32_t a, int32_t b, float ra, float rb, float shift,
                               int32_t lowest, int32_t lo, int32_t hi) {
  const float v = qn_fmaf((float)a, ra, qn_fmaf((float)b, rb, shift));
  return qn_code_shifted(v, lowest, lo, hi);
}

/* ---- products ---- */

QN_FN int32_t qn_mul_codes(int32_t a, int32_t b, int32_t za, int32_t zb, float multiplier,
                           int32_t zero, int32_t lo, int32_t hi) {
  return qn_rescale_wide((int64_t)(a - za) * (b - zb), multiplier, zero, lo, hi);
}
/* The same of codes of 8 bits, whose products fit 32: processors convert those to floats in
 * vectors, few have an instruction for 64. */
QN_FN int32_t qn_mul_codes_8(int32_t a, int32_t b, int32_t za, int32_t zb, float multiplier,
                             int32_t zero, int32_t lo, int32_t hi) {
  return qn_rescale((a - za) * (b - zb), multiplier, zero, lo, hi);
}
/* As ONNX Runtime's QLinearMul: codes of 8 bits, the zero point added before rounding. */
QN_FN int32_t qn_mul_codes_ort(int32_t a, int32_t b, int32_t za, int32_t zb, float multiplier,
                               int32_t zero, int32_t lowest, int32_t lo, int32_t hi) {
  const float v = qn_mulf((float)((a - za) * (b - zb)), multiplier) + (float)zero;
  return qn_code_shifted(v, lowest, lo, hi);
}

/* ---- results computed as floats: an f32 value to a code, by division or with the reciprocal ----
 */

QN_FN int32_t qn_encode(float v, float divisor, int32_t reciprocal, int32_t zero, int32_t lo,
                        int32_t hi) {
  return qn_code(reciprocal ? qn_mulf(v, divisor) : v / divisor, zero, lo, hi);
}

/* ---- means: `sum` of n codes less their zero points ---- */

QN_FN float qn_mean_multiplier(int32_t n, float sx, float sy) { return sx / qn_mulf(sy, (float)n); }
QN_FN int32_t qn_mean_code(int64_t sum, int32_t n, float sx, float sy, int32_t zero, int32_t lo,
                           int32_t hi) {
  return qn_rescale_wide(sum, qn_mean_multiplier(n, sx, sy), zero, lo, hi);
}
/* As ONNX Runtime's QLinearAveragePool: `sum` of decoded values, the zero point added before
 * rounding. */
QN_FN int32_t qn_mean_code_ort(float sum, int32_t n, float sy, int32_t zero, int32_t lowest,
                               int32_t lo, int32_t hi) {
  const float mean = sum / (float)n;
  return qn_code_shifted(mean / sy + (float)zero, lowest, lo, hi);
}

/* A softmax as ONNX Runtime's QLinearSoftmax has it: e * steps / sum, and what its conversion makes
 * of a product that overflows. */
QN_FN int32_t qn_softmax_code_ort(float e, float steps, float sum, int32_t zero, int32_t lo,
                                  int32_t hi) {
  const float v = qn_mulf(e, steps) / sum;
  if (!(v < 2147483648.0f)) return lo == 0 ? zero : zero < 0 ? hi : lo;
  return qn_code(v, zero, lo, hi);
}

/* Between four codes of 8 bits, as ONNX Runtime's Resize: u weighs rows, v columns; x21 is beside
 * x11, x12 below it. Four rounded products, added from left to right, and truncated. `twice`: with
 * three axes it goes on with the halves of the same four where an axis that stays ends. */
QN_FN int32_t qn_bilinear_code_ort(int32_t x11, int32_t x21, int32_t x12, int32_t x22, float u1,
                                   float u2, float v1, float v2, int twice) {
  const float first = qn_mulf(qn_mulf(v1, u1), (float)x11);
  const float second = qn_mulf(qn_mulf(v2, u1), (float)x21);
  const float third = qn_mulf(qn_mulf(v1, u2), (float)x12);
  const float fourth = qn_mulf(qn_mulf(v2, u2), (float)x22);
  const float sum = ((first + second) + third) + fourth;
  if (!twice) return (int32_t)sum;
  return (int32_t)(0.5f * ((((sum + first) + second) + third) + fourth));
}

#endif /* QN_QUANT_COMBINE_H */
