#ifndef QK_QCONV_H
#define QK_QCONV_H
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* Convolution of codes over up to three spatial axes (depth, height, width; unused ones have size
 * 1). The sum over all taps inside the input of (x - x_zero) * (w - w_zero) + bias is exact;
 * kernels/qtile/output.h states how it becomes a result. Taps outside the input count as 0.
 *
 * qk_qconv_nchw_X_W_S  x, y row-major [n, c, d, h, w] (channels-last with `nhwc`) of codes X, w as
 *                      the model has it [oc, ic/groups, k...] of type W, accumulators of type S
 * qk_qconv_nhwc        x, y channels-last, w of 8 bits in panels [groups][ceil(ocg / 16)][kd][kh]
 *                      [runs][pairs][16][2], accumulators fit 32 bits, x - x_zero 16 bits; a run
 *                      is the kw * icg inputs of a line where groups and the last dilation are 1,
 *                      else the icg inputs of a tap
 * qk_qconv_depthwise       channels-last, one input and output channel per group, w [kd][kh][kw][c]
 * Arguments: x, w, bias (of the accumulators), multipliers, bias (float), zero points of the
 * weights (one per channel), scale of x, zero point of x, residual, y. Biases and all after them
 * may be null; the zero point of x, where given, holds instead of x_zero.
 */
typedef struct {
  int32_t n, ic, oc, groups;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3];
  int32_t nhwc;
  int32_t x_type, x_zero; /* types as in kernels/common/codes.h */
  qk_epilogue epilogue;
} qk_qconv_params;

/* Transposed convolution of codes, row-major, w [ic, oc/groups, k...]: the sum over the inputs i
 * with i*stride - pad + k*dilation == o of (x - x_zero) * (w - w_zero) + bias, in 64 bits.
 * Arguments as above, without a residual. */
typedef struct {
  int32_t n, ic, oc, groups;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3];
  int32_t x_zero;
  qk_result_stage result;
  int32_t first, count; /* channels of images, kernels/common/range.h */
} qk_qconv_transpose_params;

#endif
