#include "kernels/common/inline.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/softmax/softmax.h"

/* Rows of a type that holds the exponentials: y keeps them between the passes. */
#define QK_SOFTMAX_IS_ZERO(p, max, sum) \
  (((p)->zero == 1 && (max) == -QN_INF_F64) || ((p)->zero == 2 && !((sum) == (sum))))
#define QK_DEFINE_SOFTMAX(t, T)                                                              \
  QK_INLINE T qk_softmax_row_##t(const T* x, T* y, int32_t n, int32_t stride, T max) {       \
    if (stride == 1) {                                                                       \
      for (int32_t k = 0; k < n; ++k) y[k] = qn_exp_##t(x[k] - max);                         \
    } else {                                                                                 \
      for (int32_t k = 0; k < n; ++k) y[k * stride] = qn_exp_##t(x[k * stride] - max);       \
    }                                                                                        \
    return qn_sum_##t(y, n, stride);                                                         \
  }                                                                                          \
  QK_INLINE void qk_softmax_##t(const qk_softmax_params* p, const T* x, T* y) {              \
    const int32_t n = p->n, stride = p->inner;                                               \
    for (int32_t o = 0; o < p->outer; ++o, x += n * stride, y += n * stride) {               \
      for (int32_t i = 0; i < stride; ++i) {                                                 \
        const T max = qn_row_max_##t(x + i, n, stride);                                      \
        const T sum = qk_softmax_row_##t(x + i, y + i, n, stride, max);                      \
        if (QK_SOFTMAX_IS_ZERO(p, (double)max, sum)) {                                       \
          for (int32_t k = 0; k < n; ++k) y[k * stride + i] = 0;                             \
        } else {                                                                             \
          for (int32_t k = 0; k < n; ++k) y[k * stride + i] /= sum;                          \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }                                                                                          \
  QK_INLINE void qk_log_softmax_##t(const qk_softmax_params* p, const T* x, T* y) {          \
    const int32_t n = p->n, stride = p->inner;                                               \
    for (int32_t o = 0; o < p->outer; ++o, x += n * stride, y += n * stride) {               \
      for (int32_t i = 0; i < stride; ++i) {                                                 \
        const T max = qn_row_max_##t(x + i, n, stride);                                      \
        const T log = qn_log_##t(qk_softmax_row_##t(x + i, y + i, n, stride, max));          \
        for (int32_t k = 0; k < n; ++k) y[k * stride + i] = (x[k * stride + i] - max) - log; \
      }                                                                                      \
    }                                                                                        \
  }
QK_DEFINE_SOFTMAX(f32, float)
QK_DEFINE_SOFTMAX(f64, double)

/* 16-bit rows: the exponentials are computed twice, as nothing holds them unrounded. */
#define QK_STEP_EXP(a, e, p) ((a) + qn_exp_f32((e) - (p)))
#define QK_DEFINE_SOFTMAX_16(t, LOAD, STORE)                                                      \
  QN_DEFINE_REDUCE(qk_softmax_max_##t, uint16_t, float, LOAD, -QN_INF_F32, QN_STEP_MAX_F32,       \
                   qn_max_f32)                                                                    \
  QN_DEFINE_REDUCE(qk_softmax_sum_##t, uint16_t, float, LOAD, 0.0f, QK_STEP_EXP, QN_JOIN_ADD)     \
  QK_INLINE void qk_softmax_##t(const qk_softmax_params* p, const uint16_t* x, uint16_t* y) {     \
    const int32_t n = p->n, stride = p->inner;                                                    \
    for (int32_t o = 0; o < p->outer; ++o, x += n * stride, y += n * stride) {                    \
      for (int32_t i = 0; i < stride; ++i) {                                                      \
        const float max = qk_softmax_max_##t(x + i, n, stride, 0);                                \
        const float sum = qk_softmax_sum_##t(x + i, n, stride, max);                              \
        const int zero = QK_SOFTMAX_IS_ZERO(p, (double)max, sum);                                 \
        for (int32_t k = i; k < n * stride; k += stride)                                          \
          y[k] = STORE(zero ? 0.0f : qn_exp_f32(LOAD(x[k]) - max) / sum);                         \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
  QK_INLINE void qk_log_softmax_##t(const qk_softmax_params* p, const uint16_t* x, uint16_t* y) { \
    const int32_t n = p->n, stride = p->inner;                                                    \
    for (int32_t o = 0; o < p->outer; ++o, x += n * stride, y += n * stride) {                    \
      for (int32_t i = 0; i < stride; ++i) {                                                      \
        const float max = qk_softmax_max_##t(x + i, n, stride, 0);                                \
        const float log = qn_log_f32(qk_softmax_sum_##t(x + i, n, stride, max));                  \
        for (int32_t k = i; k < n * stride; k += stride) y[k] = STORE((LOAD(x[k]) - max) - log);  \
      }                                                                                           \
    }                                                                                             \
  }
QK_DEFINE_SOFTMAX_16(f16, qn_f16_to_f32, qn_f16_from_f32)
QK_DEFINE_SOFTMAX_16(bf16, qn_bf16_to_f32, qn_bf16_from_f32)
