#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/common/quantize_epilogue.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/softmax/softmax.h"

/* Rows of a type that holds the exponentials: y keeps them between the passes. */
#define QK_SOFTMAX_IS_ZERO(p, max, sum) \
  (((p)->zero == 1 && (max) == -QN_INF_F64) || ((p)->zero == 2 && !((sum) == (sum))))
#define QK_WITH f32, float
#include "kernels/softmax/body.inc"
#define QK_WITH f64, double
#include "kernels/softmax/body.inc"

/* 16-bit rows: the exponentials are computed twice, as nothing holds them unrounded. */
#define QK_STEP_EXP(a, e, p) ((a) + qn_exp_f32((e) - (p)))
#define QK_WITH \
  qk_softmax_max_f16, uint16_t, float, qn_f16_to_f32, -QN_INF_F32, QN_STEP_MAX_F32, qn_max_f32
#include "kernels/numerics/reduce.inc"
#define QK_WITH qk_softmax_sum_f16, uint16_t, float, qn_f16_to_f32, 0.0f, QK_STEP_EXP, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH f16, qn_f16_to_f32, qn_f16_from_f32
#include "kernels/softmax/half.inc"
#define QK_WITH \
  qk_softmax_max_bf16, uint16_t, float, qn_bf16_to_f32, -QN_INF_F32, QN_STEP_MAX_F32, qn_max_f32
#include "kernels/numerics/reduce.inc"
#define QK_WITH qk_softmax_sum_bf16, uint16_t, float, qn_bf16_to_f32, 0.0f, QK_STEP_EXP, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH bf16, qn_bf16_to_f32, qn_bf16_from_f32
#include "kernels/softmax/half.inc"

QK_INLINE void qk_softmax_quantize(const qk_softmax_quantize_params* p, const float* x,
                                   const float* scales, const int32_t* zeros, void* y,
                                   float* y_scales, int32_t* y_zeros, float* floats) {
  const qk_quantize_epilogue e = QK_EPILOGUE_OF(p);
  qk_range all = {0.0f, 0.0f};
  const qk_softmax_params one = {1, p->n, p->inner, p->zero};
  const int32_t n = p->n * p->inner;
  for (int32_t o = 0; o < p->outer; ++o) {
    float* row = qk_epilogue_row(&e, o, n);
    qk_softmax_f32(&one, x + (ptrdiff_t)o * n, row);
    qk_epilogue_finish_row(&e, o, p->outer, n, &all);
  }
  qk_epilogue_finish(&e, p->outer, n, &all);
}
