#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/quant_q31.h"
#include "kernels/qreduce/qreduce.h"

/* The next place of a walk over dims with strides; index counts. */
QK_INLINE ptrdiff_t qk_qreduce_next(int32_t rank, const int32_t* dims, const int32_t* strides,
                                    int32_t* index, ptrdiff_t at) {
  for (int32_t d = rank - 1; d >= 0; --d) {
    at += strides[d];
    if (++index[d] < dims[d]) return at;
    at -= (ptrdiff_t)dims[d] * strides[d];
    index[d] = 0;
  }
  return at;
}

#define QK_WITH qk_qreduce_sum_each, qn_rescale_wide(sum, p->multiplier, p->zero, p->lo, p->hi)
#include "kernels/qreduce/sum.inc"
#define QK_WITH \
  qk_qreduce_sum_q31, qn_mean_q31(sum, p->divisor, p->mantissa, p->shift, p->zero, p->lo, p->hi)
#include "kernels/qreduce/sum.inc"

/* Rows of codes of 8 bits that lie beside each other, sixteen at once; sums of n fit 32 bits. */
QK_INLINE void qk_qreduce_sum_beside(const qk_qreduce_params* p, const uint8_t* x, uint8_t* y,
                                     int32_t rows, int32_t n) {
  const int32_t last = p->outer_rank - 1, length = p->outer_dims[last];
  int32_t outer[8] = {0};
  ptrdiff_t line = 0;
  for (int32_t o = 0; o < rows; o += length) {
    for (int32_t c = 0; c < length; c += 16) {
      const int32_t lanes = length - c < 16 ? length - c : 16;
      int32_t inner[8] = {0}, sums[16] = {0};
      ptrdiff_t at = line + c;
      for (int32_t i = 0; i < n; ++i) {
        qk_add_codes(sums, x + at, p->type_x, p->zx, lanes);
        at = qk_qreduce_next(p->inner_rank, p->inner_dims, p->inner_strides, inner, at);
      }
      for (int j = 0; j < 16; ++j) {
        sums[j] = qn_rescale(sums[j], p->multiplier, p->zero, p->lo, p->hi);
      }
      qk_store_bytes(y + o + c, sums, lanes);
    }
    line = qk_qreduce_next(last, p->outer_dims, p->outer_strides, outer, line);
  }
}

QK_INLINE void qk_qreduce_sum(const qk_qreduce_params* p, const void* x, void* y) {
  const int32_t beside = p->outer_strides[p->outer_rank - 1] == 1;
  int32_t rows = 1, n = 1;
  for (int32_t d = 0; d < p->outer_rank; ++d) rows *= p->outer_dims[d];
  for (int32_t d = 0; d < p->inner_rank; ++d) n *= p->inner_dims[d];
  if (beside && rows > 0 && n <= 1 << 22 && p->type_x <= QK_U8 && p->type_y <= QK_U8) {
    qk_qreduce_sum_beside(p, (const uint8_t*)x, (uint8_t*)y, rows, n);
  } else {
    qk_qreduce_sum_each(p, x, y);
  }
}

QK_INLINE void qk_qreduce_mean(const qk_qreduce_params* p, const void* x, void* y) {
  qk_qreduce_params own = *p;
  own.multiplier = p->multiplier / qn_mulf(p->scale_y, (float)p->divisor);
  qk_qreduce_sum(&own, x, y);
}
