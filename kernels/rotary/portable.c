#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/inline.h"
#include "kernels/common/quantize_epilogue.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/quant.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/rotary/rotary.h"
#include "kernels/rotary/walk.h"

/* A row divided by the root of the mean of its squares, times gamma (may be null); y may be x. */
QK_INLINE void qk_rotary_normalise(const float* x, const float* gamma, int32_t n, float eps,
                                   float* y) {
  const float square = qn_reduce_deviation_f32(x, n, 1, 0.0f);
  const float rstd = 1.0f / qn_sqrt_f32(square / (float)n + eps);
  for (int32_t i = 0; i < n; ++i) y[i] = qn_mulf(x[i], rstd);
  for (int32_t i = 0; gamma && i < n; ++i) y[i] = qn_mulf(y[i], gamma[i]);
}
/* The row at `at` as it is rotated: normalised in y where that is asked for. */
#define QK_ROTARY_AS_IT_IS(p, at, x, gamma, n, y) ((void)(gamma), (x))
#define QK_ROTARY_NORMALISED(p, at, x, gamma, n, y) \
  ((p)->norm ? (qk_rotary_normalise(x, QK_ROTARY_GAMMA(p, at, gamma), n, (p)->eps, y), (y)) : (x))

#define QK_FMA_f32 qn_fmaf
#define QK_FMA_f64 qn_fma

#define QK_WITH f32, float, float, f32, QK_SAME, QK_SAME, QK_ROTARY_NORMALISED
#include "kernels/rotary/body.inc"
#define QK_WITH f64, double, double, f64, QK_SAME, QK_SAME, QK_ROTARY_AS_IT_IS
#include "kernels/rotary/body.inc"
#define QK_WITH f16, uint16_t, float, f32, qn_f16_to_f32, qn_f16_from_f32, QK_ROTARY_AS_IT_IS
#include "kernels/rotary/body.inc"
#define QK_WITH bf16, uint16_t, float, f32, qn_bf16_to_f32, qn_bf16_from_f32, QK_ROTARY_AS_IT_IS
#include "kernels/rotary/body.inc"

#undef QK_FMA_f32
#undef QK_FMA_f64

/* n floats, or codes with a scale and a zero point, from element `from` on. */
QK_INLINE void qk_rotary_load(const void* x, int32_t type, ptrdiff_t from, int32_t n, float scale,
                              int32_t zero, float* y) {
  if (type == QK_F32) {
    for (int32_t i = 0; i < n; ++i) y[i] = ((const float*)x)[from + i];
  } else if (type == QK_I8) {
    for (int32_t i = 0; i < n; ++i) y[i] = qn_dequantize(((const int8_t*)x)[from + i], scale, zero);
  } else {
    for (int32_t i = 0; i < n; ++i)
      y[i] = qn_dequantize(qk_load_code(x, type, from + i), scale, zero);
  }
}

QK_INLINE void qk_rotary_quantize(const qk_rotary_quantize_params* p, const void* x,
                                  const float* cosine, const float* sine, const float* gamma,
                                  const float* x_scales, const int32_t* x_zeros,
                                  const float* scales, const int32_t* zeros, void* y,
                                  float* y_scales, int32_t* y_zeros, float* floats) {
  const int32_t last = p->rank - 1, n = p->dims[last];
  const qk_quantize_epilogue e = QK_EPILOGUE_OF(p);
  qk_range all = {0.0f, 0.0f};
  qk_rotary_row at = {{0}, 0, 0, 0};
  QK_ROTARY_ROWS(p, rows)
  for (int32_t r = 0; r < rows; ++r) {
    const int32_t i = at.index[p->axis] * p->x_step;
    float* row = qk_epilogue_row(&e, r, n);
    qk_rotary_load(x, p->x_type, at.x, n, x_scales ? x_scales[i] : 1.0f, x_zeros ? x_zeros[i] : 0,
                   row);
    if (QK_ROTARY_ROTATES(p, &at)) {
      if (p->norm) qk_rotary_normalise(row, QK_ROTARY_GAMMA(p, &at, gamma), n, p->eps, row);
      qk_rotary_row_f32(row, cosine + at.c, sine + at.s, p->c[last], p->s[last], n, p->interleaved,
                        row);
    }
    qk_epilogue_finish_row(&e, r, rows, n, &all);
    QK_ROTARY_NEXT(p, &at);
  }
  qk_epilogue_finish(&e, rows, n, &all);
}
