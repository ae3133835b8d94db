/* A unit is some rows, which 256 threads compute together (kernels/common/thread_block.h). */
#include "kernels/activation/activation.h"
#include "kernels/common/block_epilogue.h"
#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/numerics/scalar_ops.h"

enum {
  QK_ACTIVATION_silu,
  QK_ACTIVATION_gelu,
  QK_ACTIVATION_gelu_tanh,
  QK_ACTIVATION_gelu_quick,
  QK_ACTIVATION_sigmoid,
  QK_ACTIVATION_tanh,
  QK_ACTIVATION_relu,
  QK_ACTIVATION_same
};

typedef struct qk_activation_rows {
  const float *x, *factor;
  int32_t x_stride, factor_stride, op;
} qk_activation_rows;

/* `op` is a constant wherever this is inlined. */
QK_UNIT float qk_activation_of(int32_t op, float x) {
  switch (op) {
    case QK_ACTIVATION_silu:
      return qn_silu_f32(x);
    case QK_ACTIVATION_gelu:
      return qn_gelu_f32(x);
    case QK_ACTIVATION_gelu_tanh:
      return qn_gelu_tanh_f32(x);
    case QK_ACTIVATION_gelu_quick:
      return qn_gelu_quick_f32(x);
    case QK_ACTIVATION_sigmoid:
      return qn_sigmoid_f32(x);
    case QK_ACTIVATION_tanh:
      return qn_tanh_f32(x);
    case QK_ACTIVATION_relu:
      return qn_relu_f32(x);
    default:
      return x;
  }
}
QK_UNIT float qk_activation_value(const qk_activation_rows* a, int32_t r, int64_t row, int32_t i) {
  const float v = qk_activation_of(a->op, a->x[row * a->x_stride + i]);
  (void)r;
  return a->factor ? qn_mulf(v, a->factor[row * a->factor_stride + i]) : v;
}

#define QK_WITH \
  qk_activation_end, qk_activation_quantize_params, qk_activation_rows, qk_activation_value
#include "kernels/common/block_epilogue.inc"

QK_UNIT void qk_activation_block(const qk_activation_quantize_params* p, int64_t unit, int32_t op,
                                 const void* const* in, void* const* out) {
  const qk_activation_rows a = {(const float*)in[0], (const float*)in[1], p->x_stride,
                                p->factor_stride, op};
  const qk_block_rows m = qk_block_rows_of(p->rows, p->n);
  qk_activation_end(p, &m, unit, p->rows, p->n, &a, (const float*)in[2], (const int32_t*)in[3],
                    out[0], (float*)out[1], (int32_t*)out[2], (float*)out[3], (float*)out[4]);
}

#define QK_DEFINE_ACTIVATION_BLOCK(OP)                                                             \
  QK_BLOCK_SHARES(qk_activation_quantize_block_##OP, qk_activation_quantize_params)                \
  QK_UNIT int64_t qk_activation_quantize_block_##OP##_units(                                       \
      const qk_activation_quantize_params* p) {                                                    \
    return qk_block_row_units(p->rows, p->n);                                                      \
  }                                                                                                \
  QK_UNIT void qk_activation_quantize_block_##OP(                                                  \
      const qk_activation_quantize_params* p, int64_t unit, const void* x, const void* factor,     \
      const void* scales, const void* zeros, void* y, void* y_scales, void* y_zeros, void* floats, \
      void* ranges) {                                                                              \
    const void* const in[] = {x, factor, scales, zeros};                                           \
    void* const out[] = {y, y_scales, y_zeros, floats, ranges};                                    \
    qk_activation_block(p, unit, QK_ACTIVATION_##OP, in, out);                                     \
  }
QK_DEFINE_ACTIVATION_BLOCK(silu)
QK_DEFINE_ACTIVATION_BLOCK(gelu)
QK_DEFINE_ACTIVATION_BLOCK(gelu_tanh)
QK_DEFINE_ACTIVATION_BLOCK(gelu_quick)
QK_DEFINE_ACTIVATION_BLOCK(sigmoid)
QK_DEFINE_ACTIVATION_BLOCK(tanh)
QK_DEFINE_ACTIVATION_BLOCK(relu)
QK_DEFINE_ACTIVATION_BLOCK(same)
