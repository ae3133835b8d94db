/* Epilogues (kernels/common/quantize_epilogue.h) of rows that blocks of threads compute, of a scale
 * for each row or of known ones. With one scale for all (QK_PER_TENSOR) floats are stored instead,
 * and the range of each unit's rows; kernels/quantize/block.cu makes codes of them. */
#ifndef QK_BLOCK_EPILOGUE_H
#define QK_BLOCK_EPILOGUE_H

#include "kernels/common/thread_block.h"
#include "kernels/epilogue/epilogue.h"

/* Where the scale of element `at` of the result is. */
#define QK_BLOCK_SCALE_AT(p, at)                                                                  \
  ((at) / (p)->quantize.inner / (p)->quantize.axis * (p)->quantize.s_outer +                      \
   (at) / (p)->quantize.inner % (p)->quantize.axis / (p)->quantize.group * (p)->quantize.s_axis + \
   (at) % (p)->quantize.inner * (p)->quantize.s_inner)

QK_UNIT void qk_block_store(int32_t size, void* y, int64_t at, int32_t code) {
  if (size == 1) {
    ((uint8_t*)y)[at] = (uint8_t)code;
  } else {
    ((uint16_t*)y)[at] = (uint16_t)code;
  }
}
/* The lesser, or larger, of x and a number: of NaN and a number the number. */
QK_UNIT float qk_block_lesser(float x, float than) {
#if defined(__CUDA_ARCH__)
  return fminf(x, than);
#else
  return x < than ? x : than;
#endif
}
QK_UNIT float qk_block_larger(float x, float than) {
#if defined(__CUDA_ARCH__)
  return fmaxf(x, than);
#else
  return x > than ? x : than;
#endif
}
QK_UNIT int32_t qk_block_code(float x, float scale, int32_t zero, int32_t reciprocal, int32_t lo,
                              int32_t hi) {
#if defined(__CUDA_ARCH__)
  /* A quotient is the product with the reciprocal but for 2^-22 of it. Where that is not near the
   * middle between two integers both have the same code, and if it is above 512 it is outside of
   * all codes of 8 bits. */
  if (!reciprocal && lo >= -128 && hi <= 255 && scale > 0x1p-100f && scale < 0x1p100f) {
    const float near = qn_mulf(x, __frcp_rn(scale));
    const float whole = __fadd_rn(__fadd_rn(near, 12582912.0f), -12582912.0f);
    if (fabsf(near - whole) < 0.499f) return qn_code(near, zero, lo, hi);
  }
#endif
  return qn_code(reciprocal ? qn_mulf(x, scale) : x / scale, zero, lo, hi);
}

#endif
