/* How exact integer accumulators become results: every product of codes ends here.
 *
 * With codes as the result, a = f32(sum):
 *   rescale f32            code(a * m[c])
 *   .. and a float bias    code(fma(bias[c], bias_factor, a) * m[c])
 *   rescale q31            the exact sum * m[c], m as mantissa and shift, rounded once
 * where code(v) limits v, rounds it half to even and adds the zero point: one for all channels, or
 * one for each. As i32 (QK_I32) the sum itself, modulo 2^32. With floats (QK_F32): a * m[c], or a *
 * (x_scale * m[c]) where the operand's scale is known at run time only; then
 *   + bias[c], a rounding of its own.
 * Where there is a residual, the code (it keeps its rounding) and the residual's are then added as
 * kernels/qbinary does: `kind` says how, `first` whether the product is the first operand.
 *
 * A program that needs no floats defines QK_INTEGER_ONLY: then only q31 and i32 are there, so that
 * cores without an FPU link none of what computes floats in their place. Residuals are added with
 * integers then. */
#ifndef QK_Q_OUTPUT_H
#define QK_Q_OUTPUT_H

#include <stddef.h>

#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/epilogue/epilogue.h"
#include "kernels/numerics/quant_combine.h"
#include "kernels/numerics/quant_q31.h"

/* Accumulators that are rescaled by f32 multipliers, to codes of 8 bits, to such codes that are
 * then added exactly to others of 8 bits, to any codes; and all others. */
enum { QK_Q_CODES, QK_Q_ADDED, QK_Q_RESCALED, QK_Q_ANY };

typedef struct qk_q_output {
  int32_t type, zero, lo, hi; /* types as in kernels/common/codes.h */
  int32_t q31;                /* multipliers are pairs of mantissa and shift */
  const void* multipliers;    /* one per channel */
  const float* bias;          /* one per channel, may be null */
  float bias_factor;
  int32_t dynamic;      /* multipliers are times x_scale */
  int32_t path;         /* QK_Q_CODES, .. */
  const void* residual; /* lies like the result, may be null */
  qk_add_stage r;
  const int32_t* zeros; /* zero points, one per channel; null: `zero` for all */
} qk_q_output;

/* What becomes of accumulators with these operands; a kernel that takes a zero point for each
 * channel sets `zeros` itself. Members are set one by one: where they are constants, copies of
 * structs would be loads. */
QK_INLINE qk_q_output qk_q_output_with(const qk_result_stage* e, const qk_add_stage* add,
                                       const void* multipliers, const float* bias, int dynamic,
                                       const void* residual) {
  const qk_q_output o = {
      .type = e->type,
      .zero = e->zero,
      .lo = e->lo,
      .hi = e->hi,
      .q31 = e->q31,
      .multipliers = multipliers,
      .bias = bias,
      .bias_factor = e->bias_factor,
      .dynamic = dynamic,
      .path = e->type > QK_U16 || e->q31 || bias || dynamic ? QK_Q_ANY
              : !residual ? (e->type <= QK_U8 ? QK_Q_CODES : QK_Q_RESCALED)
              : add->kind == QK_R_EXACT && add->type <= QK_U8 && add->y_type <= QK_U8
                  ? QK_Q_ADDED
                  : QK_Q_RESCALED,
      .residual = residual,
      .r = {.kind = add->kind,
            .first = add->first,
            .type = add->type,
            .za = add->za,
            .zb = add->zb,
            .y_type = add->y_type,
            .zero = add->zero,
            .lo = add->lo,
            .hi = add->hi,
            .lowest = add->lowest,
            .ra = add->ra,
            .rb = add->rb,
            .shift = add->shift,
            .divisor = add->divisor,
            .reciprocal = add->reciprocal,
            .ma = add->ma,
            .mb = add->mb,
            .mshift = add->mshift},
      .zeros = 0,
  };
  return o;
}
QK_INLINE qk_q_output qk_q_output_of(const qk_epilogue* e, const void* multipliers,
                                     const float* bias, int dynamic, const void* residual) {
  return qk_q_output_with(&e->result, &e->add, multipliers, bias, dynamic, residual);
}
/* For kernels that take no residual. */
QK_INLINE qk_q_output qk_q_plain_output_of(const qk_result_stage* e, const void* multipliers,
                                           const float* bias, int dynamic) {
  const qk_add_stage none = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0f, 0.0f, 0.0f, 0.0f, 0, 0, 0, 0};
  return qk_q_output_with(e, &none, multipliers, bias, dynamic, 0);
}

/* The code of the sum of a code and the residual's. */
QK_INLINE int32_t qk_q_add(const qk_add_stage* r, int32_t code, int32_t other) {
  const int32_t a = r->first ? code : other, b = r->first ? other : code;
#if !defined(QK_INTEGER_ONLY)
  switch (r->kind) {
    case QK_R_EXACT:
      return qn_add_codes(a, b, r->za, r->zb, r->ra, r->rb, r->zero, r->lo, r->hi);
    case QK_R_ORT:
      return qn_add_codes_ort(a, b, r->ra, r->rb, r->shift, r->lowest, r->lo, r->hi);
    case QK_R_F32:
      return qn_encode(qn_dequantize(a, r->ra, r->za) + qn_dequantize(b, r->rb, r->zb), r->divisor,
                       r->reciprocal, r->zero, r->lo, r->hi);
    default:
      break;
  }
#endif
  return qn_add_codes_q31(a, b, r->za, r->zb, r->ma, r->mb, r->mshift, r->zero, r->lo, r->hi);
}

/* A code of the product to its place, through the residual where there is one. */
QK_INLINE void qk_q_finish(const qk_q_output* o, int32_t code, void* y, ptrdiff_t at) {
  if (o->residual) {
    code = qk_q_add(&o->r, code, qk_load_code(o->residual, o->r.type, at));
    qk_store_code(y, o->r.y_type, at, code);
    return;
  }
  qk_store_code(y, o->type, at, code);
}

#if !defined(QK_INTEGER_ONLY)
/* What a sum stands for: the float result, or the number whose code is the result. */
QK_INLINE float qk_q_value(const qk_q_output* o, int64_t sum, int32_t channel, float x_scale) {
  float v = (float)sum;
  if (o->bias && o->type != QK_F32) v = qn_fmaf(o->bias[channel], o->bias_factor, v);
  {
    const float m = ((const float*)o->multipliers)[channel];
    v = qn_mulf(v, o->dynamic ? qn_mulf(x_scale, m) : m);
  }
  return o->bias && o->type == QK_F32 ? v + o->bias[channel] : v;
}
#endif

/* The code of a sum, before a residual is added. */
QK_INLINE int32_t qk_q_code(const qk_q_output* o, int64_t sum, int32_t channel, float x_scale) {
  const int32_t zero = o->zeros ? o->zeros[channel] : o->zero;
#if !defined(QK_INTEGER_ONLY)
  if (!o->q31) return qn_code(qk_q_value(o, sum, channel, x_scale), zero, o->lo, o->hi);
#else
  (void)x_scale;
#endif
  {
    const int32_t* m = (const int32_t*)o->multipliers + 2 * (ptrdiff_t)channel;
    return qn_rescale_q31(sum, m[0], m[1], zero, o->lo, o->hi);
  }
}

/* The result of one sum. */
QK_INLINE void qk_q_store(const qk_q_output* o, int64_t sum, int32_t channel, float x_scale,
                          void* y, ptrdiff_t at) {
  if (o->type == QK_I32) {
    ((int32_t*)y)[at] = (int32_t)(uint32_t)sum;
    return;
  }
#if !defined(QK_INTEGER_ONLY)
  if (o->type == QK_F32 && !o->q31) {
    ((float*)y)[at] = qk_q_value(o, sum, channel, x_scale);
    return;
  }
#endif
  qk_q_finish(o, qk_q_code(o, sum, channel, x_scale), y, at);
}

#endif
