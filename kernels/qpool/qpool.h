#ifndef QK_QPOOL_H
#define QK_QPOOL_H
#include <stdint.h>

/* Codes of the means under the windows of qk_pool_params, whose members come first. Types are those
 * of kernels/common/codes.h, formulas those of kernels/numerics/quant_combine.h:
 *
 * qk_qavg_pool        exact sums of 32 bits, _wide: of 64
 * qk_qavg_pool_ort    as ONNX Runtime's QLinearAveragePool
 * qk_qavg_pool_f32    decoded, summed by plain additions, divided and encoded with `divisor_y`, a
 *                     reciprocal with `reciprocal`
 * qk_qavg_pool_q31    exact sums of 64 bits, qn_mean_q31 with sx / sy as mantissa * 2^-shift
 *
 * Padding is 0, so it adds nothing to a sum. Arguments: x, y. */
typedef struct {
  int32_t n, c;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3], end[3];
  int32_t valid[3];
  int32_t nhwc, adaptive, include, divisor;
  int32_t type_x, type_y;
  int32_t zx, zero, lo, hi, lowest;
  float sx, sy, divisor_y;
  int32_t reciprocal, mantissa, shift;
} qk_qpool_params;

#endif
