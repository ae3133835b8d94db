#include "kernels/c/codes.h"
#include "kernels/c/qreduce/qreduce.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/quant_q31.h"

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

#define QK_DEFINE_QREDUCE_SUM(name, RESULT)                                              \
  QK_INLINE void name(const qk_qreduce_params* p, const void* x, void* y) {              \
    int32_t rows = 1, n = 1, outer[8] = {0}, d;                                          \
    ptrdiff_t row = 0;                                                                   \
    for (d = 0; d < p->outer_rank; ++d) rows *= p->outer_dims[d];                        \
    for (d = 0; d < p->inner_rank; ++d) n *= p->inner_dims[d];                           \
    for (int32_t o = 0; o < rows; ++o) {                                                 \
      int32_t inner[8] = {0};                                                            \
      ptrdiff_t at = row;                                                                \
      int64_t sum = 0;                                                                   \
      for (int32_t i = 0; i < n; ++i) {                                                  \
        sum += qk_load_code(x, p->type_x, at) - p->zx;                                   \
        at = qk_qreduce_next(p->inner_rank, p->inner_dims, p->inner_strides, inner, at); \
      }                                                                                  \
      qk_store_code(y, p->type_y, o, RESULT);                                            \
      row = qk_qreduce_next(p->outer_rank, p->outer_dims, p->outer_strides, outer, row); \
    }                                                                                    \
  }
QK_DEFINE_QREDUCE_SUM(qk_qreduce_sum, qn_rescale_wide(sum, p->multiplier, p->zero, p->lo, p->hi))
QK_DEFINE_QREDUCE_SUM(qk_qreduce_sum_q31,
                      qn_mean_q31(sum, p->divisor, p->mantissa, p->shift, p->zero, p->lo, p->hi))
