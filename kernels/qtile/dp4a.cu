/* A unit is four neighbouring outputs of a position, from weights packed as for tensor cores. */
#include "kernels/common/cuda.h"
#include "kernels/qtile/mma_epilogue.h"
#include "kernels/qtile/mma_source.h"

QK_UNIT int64_t qk_qtile_dp4a_units(const qk_qtile_params* p) {
  return qk_mma_rows(p) * (qk_mma_outputs(p) / 4);
}

/* Four codes of x and four weights, multiplied and added to a sum. */
QK_UNIT int32_t qk_dp4a(uint32_t x, uint32_t w, int32_t sum, int without_sign) {
#if defined(__CUDA_ARCH__)
  if (without_sign) {
    asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(w));
  } else {
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(w));
  }
  return sum;
#else
  uint32_t out = (uint32_t)sum;
  for (int32_t i = 0; i < 4; ++i) {
    const uint8_t code = (uint8_t)(x >> (8 * i)), weight = (uint8_t)(w >> (8 * i));
    const int32_t own = without_sign ? (int32_t)code : (int32_t)(int8_t)code;
    out += (uint32_t)(own * (int32_t)(int8_t)weight);
  }
  return (int32_t)out;
#endif
}

/* The four words at `from`, which is a multiple of 16 bytes where `aligned`. */
QK_UNIT void qk_dp4a_words(uint32_t* to, const uint8_t* from, int aligned) {
  for (int32_t i = 0; i < 4; ++i) {
    to[i] = aligned ? ((const uint32_t*)from)[i]
                    : (uint32_t)from[4 * i] | (uint32_t)from[4 * i + 1] << 8 |
                          (uint32_t)from[4 * i + 2] << 16 | (uint32_t)from[4 * i + 3] << 24;
  }
}

/* 16 terms of a window; padding where they are outside of x. */
QK_UNIT void qk_dp4a_terms(const qk_qtile_params* p, const qk_mma_window* window,
                           const qk_mma_term* term, const uint8_t* x, uint32_t zeros,
                           uint32_t* to) {
  const int32_t length = p->in[2] * p->ic, at = qk_mma_at_in_line(p, window, term);
  const int there = qk_mma_is_term(p, term) && qk_mma_in_line(p, window, term);
  const uint8_t* const from = x + (window->begin + qk_mma_offset(p, term));
  if (there && at >= 0 && at + 16 <= length) {
    qk_dp4a_words(to, from, p->ic % 16 == 0 && ((uintptr_t)x & 15) == 0);
    return;
  }
  for (int32_t i = 0; i < 4; ++i) {
    to[i] = zeros;
    for (int32_t j = 0; there && j < 4; ++j) {
      const int32_t b = i * 4 + j;
      if (at + b >= 0 && at + b < length)
        to[i] = (to[i] & ~(0xffu << (8 * j))) | (uint32_t)from[b] << (8 * j);
    }
  }
}

QK_UNIT void qk_qtile_dp4a(const qk_qtile_params* p, int64_t unit, const void* x, const void* w,
                           const void* bias, const void* multipliers, const void* float_bias,
                           const void* x_scales, const void* x_zeros, const void* residual,
                           const void* y_zeros, void* y) {
  const int32_t depth = qk_mma_depth(p), groups = qk_mma_outputs(p) / 4;
  const qk_q_epilogue e = qk_mma_epilogue_of(p, w, bias, multipliers, float_bias, x_scales, x_zeros,
                                             residual, y_zeros, y);
  const int64_t row = unit / groups;
  const int32_t n = (int32_t)(unit - row * groups) * 4;
  const qk_mma_window window = qk_mma_window_of(p, row);
  const uint32_t zeros = ((uint32_t)qk_q_epilogue_zero(&e, row) & 0xff) * 0x01010101u;
  int32_t accumulators[4] = {0, 0, 0, 0};
  for (int32_t k = 0; k < depth; k += 16) {
    const qk_mma_term term = qk_mma_term_of(p, k);
    uint32_t codes[4];
    qk_dp4a_terms(p, &window, &term, (const uint8_t*)x, zeros, codes);
    for (int32_t i = 0; i < 4; ++i) {
      uint32_t weights[4];
      qk_dp4a_words(weights, (const uint8_t*)w + (int64_t)(n + i) * depth + k, 1);
      for (int32_t j = 0; j < 4; ++j)
        accumulators[i] = qk_dp4a(codes[j], weights[j], accumulators[i], p->x_type == QK_U8);
    }
  }
  for (int32_t i = 0; i < 4 && n + i < p->oc; ++i) qk_q_finish_one(&e, accumulators[i], row, n + i);
}
