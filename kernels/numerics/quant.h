/* Codes and what they mean: quantize, dequantize and rescaling, one rounding each. */
#ifndef QN_QUANT_H
#define QN_QUANT_H

#include "kernels/numerics/base.h"

/* v rounded half to even, plus the zero point, limited to codes lo..hi; a NaN gives lo. The limits
 * apply before rounding, so the conversion never overflows; lo - zero and hi - zero are below 2^24.
 */
QN_FN int32_t qn_code(float v, int32_t zero, int32_t lo, int32_t hi) {
  const float least = (float)(lo - zero), most = (float)(hi - zero);
#if defined(__CUDA_ARCH__)
  /* Adding 1.5 * 2^23 rounds what is below 2^22; GPUs convert and round at an eighth of the speed
   * at which they add. Of NaN and a number fmaxf takes the number. */
  if (least >= -4194304.0f && most <= 4194304.0f)
    return __float_as_int(__fadd_rn(fminf(fmaxf(v, least), most), 12582912.0f)) - 0x4b400000 + zero;
#endif
  const float above = v > least ? v : least;
  const float within = above < most ? above : most;
  return (int32_t)qn_round_f32(within) + zero;
}

QN_FN int32_t qn_quantize(float x, float scale, int32_t zero, int32_t lo, int32_t hi) {
  return qn_code(x / scale, zero, lo, hi);
}
/* With the scale's reciprocal. */
QN_FN int32_t qn_quantize_reciprocal(float x, float inverse, int32_t zero, int32_t lo, int32_t hi) {
  return qn_code(qn_mulf(x, inverse), zero, lo, hi);
}
QN_FN float qn_dequantize(int32_t code, float scale, int32_t zero) {
  return qn_mulf((float)((int64_t)code - zero), scale);
}
/* An accumulator times a multiplier. */
QN_FN int32_t qn_rescale(int32_t sum, float multiplier, int32_t zero, int32_t lo, int32_t hi) {
  return qn_code(qn_mulf((float)sum, multiplier), zero, lo, hi);
}
QN_FN int32_t qn_rescale_wide(int64_t sum, float multiplier, int32_t zero, int32_t lo, int32_t hi) {
  return qn_code(qn_mulf((float)sum, multiplier), zero, lo, hi);
}

/* Scale and zero point that hold the range least..most, 0 included. Asymmetric, as ONNX's
 * DynamicQuantizeLinear: scale = (max - min) / (hi - lo), zero point = the code lo - min / scale.
 * Symmetric: scale = largest magnitude / hi, zero point 0. A range that is empty, or so small that
 * its scale is 0, has scale 1. */
QN_FN void qn_range_scale(float least, float most, int32_t lo, int32_t hi, int symmetric,
                          float* scale, int32_t* zero) {
  float s;
  if (symmetric) {
    const float largest = -least > most ? -least : most;
    s = largest / (float)hi;
  } else {
    s = (most - least) / (float)(hi - lo);
  }
  if (s == 0.0f) s = 1.0f;
  *scale = s;
  *zero = symmetric ? 0 : qn_code((0.0f - least) / s, lo, lo, hi);
}

/* Of n elements; what is NaN does not count. */
QN_FN void qn_dynamic_range(const float* x, int32_t n, int32_t lo, int32_t hi, int symmetric,
                            float* scale, int32_t* zero) {
  float least = 0.0f, most = 0.0f;
  for (int32_t i = 0; i < n; ++i) {
    least = x[i] < least ? x[i] : least;
    most = x[i] > most ? x[i] : most;
  }
  qn_range_scale(least, most, lo, hi, symmetric, scale, zero);
}

#endif /* QN_QUANT_H */
