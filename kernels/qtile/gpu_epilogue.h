/* GPU GEMM epilogue; processes four accumulators at once when they are contiguous. */
#ifndef QK_QTILE_GPU_EPILOGUE_H
#define QK_QTILE_GPU_EPILOGUE_H

#include "kernels/qtile/output.h"

/* What complete accumulators become: constants of the `oc` outputs of a row, and what is found at
 * run time. `weight_sums` is what a zero point of x takes away. With `per_row` there is a scale,
 * and a zero point, for each row. */
typedef struct qk_q_epilogue {
  qk_q_output to;
  const int32_t *bias, *weight_sums;
  const float* x_scales;
  const int32_t* x_zeros;
  int32_t oc, per_row, x_zero;
  void* y;
} qk_q_epilogue;

QK_UNIT int32_t qk_q_epilogue_zero(const qk_q_epilogue* e, int64_t row) {
  return e->x_zeros ? e->x_zeros[e->per_row ? row : 0] : e->x_zero;
}
QK_UNIT float qk_q_epilogue_scale(const qk_q_epilogue* e, int64_t row) {
  return e->x_scales ? e->x_scales[e->per_row ? row : 0] : 1.0f;
}
/* A sum of products with its bias, less what the zero point of x added. */
QK_UNIT int32_t qk_q_whole(int32_t sum, int32_t bias, int32_t zero, int32_t weight_sum) {
  return (int32_t)((uint32_t)sum + (uint32_t)bias - (uint32_t)zero * (uint32_t)weight_sum);
}
QK_UNIT void qk_q_finish_one(const qk_q_epilogue* e, int32_t sum, int64_t row, int32_t n) {
  const int32_t whole =
      qk_q_whole(sum, e->bias ? e->bias[n] : 0, qk_q_epilogue_zero(e, row), e->weight_sums[n]);
  qk_q_store(&e->to, whole, n, qk_q_epilogue_scale(e, row), e->y, (ptrdiff_t)(row * e->oc + n));
}

#if defined(__CUDA_ARCH__)

/* What belongs to four neighbouring outputs, in registers. A zero point that all rows share is in
 * `bias`, and weight_sums are 0 then. */
typedef struct qk_q_four {
  int32_t n;
  uint32_t bias[4], weight_sums[4];
  uint32_t multipliers[8]; /* pairs with q31 */
  uint32_t float_bias[4];
  uint32_t zeros[4]; /* of results, where each output has its own */
} qk_q_four;

/* Four words at a multiple of 16 bytes. */
QK_UNIT void qk_q_load_four(uint32_t* to, const void* from) {
  const uint4 all = *(const uint4*)from;
  to[0] = all.x;
  to[1] = all.y;
  to[2] = all.z;
  to[3] = all.w;
}
/* Words i to i + 3 of a table of `count`, which begins at a multiple of 16 bytes; where there are
 * less, the last again. */
QK_UNIT void qk_q_words(uint32_t* to, const void* table, int32_t i, int32_t count) {
  if (count % 4 == 0) {
    qk_q_load_four(to, (const uint32_t*)table + (i < count ? i : count - 4));
    return;
  }
#pragma unroll
  for (int32_t j = 0; j < 4; ++j)
    to[j] = ((const uint32_t*)table)[i + j < count ? i + j : count - 1];
}

QK_UNIT qk_q_four qk_q_four_of(const qk_q_epilogue* e, int32_t n) {
  qk_q_four four = {};
  uint32_t weight_sums[4];
  four.n = n;
  if (e->bias) qk_q_words(four.bias, e->bias, n, e->oc);
  qk_q_words(weight_sums, e->weight_sums, n, e->oc);
#pragma unroll
  for (int32_t i = 0; i < 4; ++i) {
    four.weight_sums[i] = e->per_row ? weight_sums[i] : 0;
    if (!e->per_row) four.bias[i] -= (uint32_t)qk_q_epilogue_zero(e, 0) * weight_sums[i];
  }
  if (e->to.bias) qk_q_words(four.float_bias, e->to.bias, n, e->oc);
  if (e->to.zeros) qk_q_words(four.zeros, e->to.zeros, n, e->oc);
  if (e->to.multipliers && !e->to.q31) qk_q_words(four.multipliers, e->to.multipliers, n, e->oc);
  if (e->to.multipliers && e->to.q31) {
    qk_q_words(four.multipliers, e->to.multipliers, 2 * n, 2 * e->oc);
    qk_q_words(four.multipliers + 4, e->to.multipliers, 2 * n + 4, 2 * e->oc);
  }
  return four;
}

/* Whether four neighbouring results are computed together, and four codes of the residual read. */
QK_UNIT int qk_q_in_fours(const qk_q_epilogue* e) {
  const int32_t type = e->to.residual ? e->to.r.y_type : e->to.type;
  if (e->oc % 4) return 0;
  return type == QK_I32 || type == QK_F32 ||
         (type <= QK_U8 && (!e->to.residual || e->to.r.type <= QK_U8));
}
/* Whether they also lie so that they are stored at once. */
QK_UNIT int qk_q_by_four(const qk_q_epilogue* e) {
  const int32_t type = e->to.residual ? e->to.r.y_type : e->to.type;
  const uintptr_t rest = type == QK_I32 || type == QK_F32 ? 15 : 3;
  return qk_q_in_fours(e) && (((uintptr_t)e->y | (uintptr_t)e->to.residual) & rest) == 0;
}
/* Whether results are codes of 8 bits: four are a word. */
QK_UNIT int qk_q_are_bytes(const qk_q_epilogue* e) {
  return e->to.type != QK_I32 && e->to.type != QK_F32;
}
/* The codes of the residual for four outputs. */
QK_UNIT uint32_t qk_q_others(const qk_q_epilogue* e, const qk_q_four* four, int64_t row) {
  return *(const uint32_t*)((const uint8_t*)e->to.residual + row * e->oc + four->n);
}

/* 1.5 * 2^23 and the code of v less its zero point, as qn_code limits and rounds it. Codes have at
 * most 16 bits. */
QK_UNIT uint32_t qk_q_rounded(float v, int32_t zero, int32_t lo, int32_t hi) {
  const float within = fminf(fmaxf(v, (float)(lo - zero)), (float)(hi - zero));
  return __float_as_uint(__fadd_rn(within, 12582912.0f));
}
/* The same of the sum of a value that is to be rounded to a code and a residual's code, as qk_q_add
 * computes it (QK_R_EXACT), without leaving floats: integers below 2^22 are added and subtracted
 * exactly, and conversions are slow. `other` is the residual's code as the last byte of 2^23 and
 * more; codes with a sign are 128 larger. */
QK_UNIT uint32_t qk_q_add_exact(const qk_q_output* o, float v, uint32_t other) {
  const qk_add_stage* const r = &o->r;
  const float code = __uint_as_float(qk_q_rounded(v, o->zero, o->lo, o->hi));
  const float ours = __fadd_rn(code, (float)(o->zero - (r->first ? r->za : r->zb)) - 12582912.0f);
  const int32_t flip = r->type == QK_I8 ? 0x80 : 0;
  const float theirs =
      __fadd_rn(__uint_as_float(other), -(float)(8388608 + flip + (r->first ? r->zb : r->za)));
  const float a = r->first ? ours : theirs, b = r->first ? theirs : ours;
  return qk_q_rounded(qn_fmaf(b, r->rb, qn_mulf(a, r->ra)), r->zero, r->lo, r->hi);
}

/* The code of v, of 8 bits, with a zero point that the compiler does not know: limits are those of
 * codes, for what is far outside of all codes stays outside. */
QK_UNIT uint32_t qk_q_rounded_at(float v, uint32_t zero, int32_t lo, int32_t hi) {
  const uint32_t code = qk_q_rounded(v, 0, -1024, 1024) - 0x4b400000u + zero;
  return (uint32_t)min(max((int32_t)code, lo), hi);
}

/* The last bytes of four words. */
QK_UNIT uint32_t qk_q_last_bytes(const uint32_t* words) {
  return __byte_perm(__byte_perm(words[0], words[1], 0x0040),
                     __byte_perm(words[2], words[3], 0x0040), 0x5410);
}
/* `number` is added to each of four bytes. */
QK_UNIT uint32_t qk_q_plus(uint32_t bytes, int32_t number) {
  const uint32_t four = ((uint32_t)number & 0xff) * 0x01010101u;
  return ((bytes & 0x7f7f7f7fu) + (four & 0x7f7f7f7fu)) ^ ((bytes ^ four) & 0x80808080u);
}

/* What four accumulators become: constants of the outputs are those of `four`. */
QK_UNIT qk_q_output qk_q_output_of_four(const qk_q_epilogue* e, const qk_q_four* four) {
  qk_q_output to = e->to;
  to.multipliers = four->multipliers;
  to.bias = e->to.bias ? (const float*)four->float_bias : 0;
  to.zeros = e->to.zeros ? e->to.zeros + four->n : 0;
  return to;
}
/* Four neighbouring outputs, of which all are there, as codes of 8 bits; `others` are the codes of
 * the residual. */
QK_UNIT uint32_t qk_q_four_codes(const qk_q_epilogue* e, const qk_q_four* four,
                                 const int32_t* accumulators, uint32_t others, int64_t row) {
  const qk_q_output to = qk_q_output_of_four(e, four);
  const float scale = qk_q_epilogue_scale(e, row);
  const int exact = to.residual && to.path == QK_Q_ADDED;
  const int rounded = exact || !(to.residual || to.q31);
  const uint32_t bytes = exact && to.r.type == QK_I8 ? others ^ 0x80808080u : others;
  uint32_t out[4];
#pragma unroll
  for (int32_t i = 0; i < 4; ++i) {
    const int32_t sum = qk_q_whole(accumulators[i], (int32_t)four->bias[i],
                                   qk_q_epilogue_zero(e, row), (int32_t)four->weight_sums[i]);
    if (exact) {
      out[i] = qk_q_add_exact(&to, qk_q_value(&to, sum, i, scale),
                              __byte_perm(bytes, 0x4b000000u, 0x7440u | (uint32_t)i));
    } else if (rounded && to.zeros) {
      out[i] = qk_q_rounded_at(qk_q_value(&to, sum, i, scale), four->zeros[i], to.lo, to.hi);
    } else if (rounded) {
      out[i] = qk_q_rounded(qk_q_value(&to, sum, i, scale), to.zero, to.lo, to.hi);
    } else {
      const uint8_t byte = (uint8_t)(bytes >> (8 * i));
      const int32_t code = qk_q_code(&to, sum, i, scale);
      const int32_t other = to.r.type == QK_I8 ? (int32_t)(int8_t)byte : (int32_t)byte;
      out[i] = (uint32_t)(to.residual ? qk_q_add(&to.r, code, other) : code);
    }
  }
  return qk_q_plus(qk_q_last_bytes(out), exact ? to.r.zero : rounded && !to.zeros ? to.zero : 0);
}
/* The same as floats or accumulators. */
QK_UNIT uint4 qk_q_four_words(const qk_q_epilogue* e, const qk_q_four* four,
                              const int32_t* accumulators, int64_t row) {
  const qk_q_output to = qk_q_output_of_four(e, four);
  const float scale = qk_q_epilogue_scale(e, row);
  uint32_t out[4];
#pragma unroll
  for (int32_t i = 0; i < 4; ++i) {
    const int32_t sum = qk_q_whole(accumulators[i], (int32_t)four->bias[i],
                                   qk_q_epilogue_zero(e, row), (int32_t)four->weight_sums[i]);
    out[i] = to.type == QK_I32 ? (uint32_t)sum : __float_as_uint(qk_q_value(&to, sum, i, scale));
  }
  return make_uint4(out[0], out[1], out[2], out[3]);
}
/* Writes output i of four, wherever they lie. */
QK_UNIT void qk_q_finish_of_four(const qk_q_epilogue* e, const qk_q_four* four, int32_t sum,
                                 int64_t row, int32_t i) {
  const int32_t n = four->n + i;
  const int32_t whole = qk_q_whole(sum, (int32_t)four->bias[i], qk_q_epilogue_zero(e, row),
                                   (int32_t)four->weight_sums[i]);
  qk_q_store(&e->to, whole, n, qk_q_epilogue_scale(e, row), e->y, (ptrdiff_t)(row * e->oc + n));
}
/* Writes four neighbouring outputs as floats or accumulators. */
QK_UNIT void qk_q_store_four(const qk_q_epilogue* e, const qk_q_four* four,
                             const int32_t* accumulators, int64_t row) {
  uint32_t* const to = (uint32_t*)e->y + (row * e->oc + four->n);
  const uint4 words = qk_q_four_words(e, four, accumulators, row);
  if (((uintptr_t)e->y & 15) == 0) {
    *(uint4*)to = words;
  } else {
    to[0] = words.x;
    to[1] = words.y;
    to[2] = words.z;
    to[3] = words.w;
  }
}
/* Writes four neighbouring outputs, which lie so, in one word or four. */
QK_UNIT void qk_q_finish_four(const qk_q_epilogue* e, const qk_q_four* four,
                              const int32_t* accumulators, uint32_t others, int64_t row) {
  if (qk_q_are_bytes(e)) {
    *(uint32_t*)((uint8_t*)e->y + (row * e->oc + four->n)) =
        qk_q_four_codes(e, four, accumulators, others, row);
  } else {
    qk_q_store_four(e, four, accumulators, row);
  }
}

#endif
#endif
