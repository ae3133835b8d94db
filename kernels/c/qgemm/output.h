/* How exact integer sums become results: every product of codes ends here.
 *
 * With codes as the result, a = f32(sum):
 *   rescale f32            code(a * m[c])
 *   .. and a float bias    code(fma(bias[c], bias_factor, a) * m[c])
 *   rescale q31            the exact sum * m[c], m as mantissa and shift, rounded once
 * where code(v) limits v, rounds it half to even and adds the zero point. With floats (type
 * QK_F32): a * m[c], or a * (x_scale * m[c]) where the operand's scale is known at run time only;
 * then
 *   + bias[c], a rounding of its own.
 */
#ifndef QK_Q_OUTPUT_H
#define QK_Q_OUTPUT_H

#include <stddef.h>

#include "kernels/c/codes.h"
#include "kernels/c/inline.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/quant_q31.h"

#if defined(__GNUC__)
#define QK_Q_SHARED static __attribute__((noinline, unused))
#else
#define QK_Q_SHARED static
#endif

typedef struct qk_q_output {
  int32_t type, zero, lo, hi; /* types as in kernels/c/codes.h */
  int32_t q31;                /* multipliers are pairs of mantissa and shift */
  const void* multipliers;    /* one per channel */
  const float* bias;          /* one per channel, may be null */
  float bias_factor;
  int32_t dynamic; /* multipliers are times x_scale */
} qk_q_output;

/* From the members that the parameter structs of all these kernels have. */
#define QK_Q_OUTPUT(p, m, b, has_scale) \
  { (p)->y_type, (p)->y_zero, (p)->lo, (p)->hi, (p)->q31, (m), (b), (p)->bias_factor, (has_scale) }

/* The result of one sum. */
QK_INLINE void qk_q_put(const qk_q_output* o, int64_t sum, int32_t channel, float x_scale, void* y,
                        ptrdiff_t at) {
  float v = (float)sum;
  if (o->q31) {
    const int32_t* m = (const int32_t*)o->multipliers + 2 * (ptrdiff_t)channel;
    qk_store_code(y, o->type, at, qn_rescale_q31(sum, m[0], m[1], o->zero, o->lo, o->hi));
    return;
  }
  if (o->bias && o->type != QK_F32) v = qn_fmaf(o->bias[channel], o->bias_factor, v);
  {
    const float m = ((const float*)o->multipliers)[channel];
    v = qn_mulf(v, o->dynamic ? qn_mulf(x_scale, m) : m);
  }
  if (o->type != QK_F32) {
    qk_store_code(y, o->type, at, qn_code(v, o->zero, o->lo, o->hi));
    return;
  }
  ((float*)y)[at] = o->bias ? v + o->bias[channel] : v;
}

/* The results of sums of n <= 16 neighbouring channels; `sums` has 16 elements. */
QK_Q_SHARED void qk_q_put16(const qk_q_output* o, const int32_t* sums, int32_t channel, int32_t n,
                            float x_scale, void* y, ptrdiff_t at) {
  float v[16], m[16];
  int32_t code[16];
  if (o->q31) {
    for (int32_t j = 0; j < n; ++j) qk_q_put(o, sums[j], channel + j, x_scale, y, at + j);
    return;
  }
  {
    const float* from = (const float*)o->multipliers + channel;
    for (int j = 0; j < 16; ++j) m[j] = 0.0f;
    if (n == 16) {
      for (int j = 0; j < 16; ++j) m[j] = from[j];
    } else {
      for (int32_t j = 0; j < n; ++j) m[j] = from[j];
    }
  }
  for (int j = 0; j < 16; ++j) v[j] = (float)sums[j];
  if (o->bias && o->type != QK_F32) {
    for (int32_t j = 0; j < n; ++j) v[j] = qn_fmaf(o->bias[channel + j], o->bias_factor, v[j]);
  }
  if (o->dynamic) {
    for (int j = 0; j < 16; ++j) m[j] = qn_mulf(x_scale, m[j]);
  }
  for (int j = 0; j < 16; ++j) v[j] = qn_mulf(v[j], m[j]);
  if (o->type == QK_F32) {
    float* to = (float*)y + at;
    if (o->bias) {
      for (int32_t j = 0; j < n; ++j) to[j] = v[j] + o->bias[channel + j];
    } else {
      for (int32_t j = 0; j < n; ++j) to[j] = v[j];
    }
    return;
  }
  for (int j = 0; j < 16; ++j) code[j] = qn_code(v[j], o->zero, o->lo, o->hi);
  if (n == 16 && o->type <= QK_U8) { /* the low byte, whatever the sign */
    uint8_t* to = (uint8_t*)y + at;
    for (int j = 0; j < 16; ++j) to[j] = (uint8_t)code[j];
    return;
  }
  for (int32_t j = 0; j < n; ++j) qk_store_code(y, o->type, at + j, code[j]);
}

#endif
