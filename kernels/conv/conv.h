#ifndef QK_CONV_H
#define QK_CONV_H
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* Convolution over up to three spatial axes (depth, height, width; unused ones have size 1).
 *
 * y[n, oc, o] = r(clamp(bias[oc] + sum x[n, ic, o*stride - pad + k*dilation] * w[oc, ic, k], lo,
 * hi)), one chain of fused multiply-adds per output that starts at the bias (0 without one) and
 * takes taps in the order (depth, height, width, input channel); taps outside the input are left
 * out. r adds the residual and clamps to the limits of add_f32 where a residual is given.
 *
 * qk_conv_nchw_T        x, y row-major [n, c, d, h, w], w as the model has it [oc, ic/groups, k...]
 * qk_conv_nhwc_f32      x, y channels-last [n, d, h, w, c], w packed by qk_conv_pack_f32:
 *                       [groups][ceil(ocg / 16)][kd][kh][kw][icg][16]
 * qk_conv_depthwise_f32     channels-last, one input and output channel per group, w packed by
 *                       qk_conv_depthwise_pack_f32: [kd][kh][kw][c]
 * Arguments: x, w, bias (may be null), residual (may be null; lies like y), y.
 */
typedef struct {
  int32_t n, ic, oc, groups;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3];
  int32_t valid[3]; /* elements of x from these on count as outside */
  int32_t nhwc;     /* qk_conv_nchw: x and y are channels-last after all */
  float lo, hi;
  qk_add_f32_stage add_f32;
} qk_conv_params;

/* The same convolution of row-major or channels-last x and y, weights as the model has them, with
 * another order of sums: products go in the order (input channel, depth, height, width) into chains
 * that each start at 0, chains are added one after the other from 0 on, then the bias. Taps outside
 * the input add nothing but have their place. Without `quads` chains are `block` fused
 * multiply-adds long, the last one what is left; with it they are four additions of rounded
 * products, then two and one of what is left. Arguments: x, w, bias (may be null), y.
 */
typedef struct {
  int32_t n, ic, oc, groups;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3];
  int32_t nhwc, quads, block;
  float lo, hi;
} qk_conv_ordered_params;

/* w [oc, icg, taps] row-major to panels; what is beyond oc is 0. */
typedef struct {
  int32_t groups, ocg, icg, taps;
} qk_conv_pack_params;

/* Transposed convolution, row-major; w [ic, oc/groups, k...].
 *
 * y[n, oc, o] gathers the inputs i with i*stride - pad + k*dilation == o: a chain of fused
 * multiply-adds from the bias on, taps ascending in (depth, height, width), input channels
 * ascending within a tap; then clamp to [lo, hi]. Arguments: x, w, bias (may be null), y.
 */
typedef struct {
  int32_t n, ic, oc, groups;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3];
  float lo, hi;
  int32_t first, count; /* channels of images, kernels/common/range.h */
} qk_conv_transpose_params;

#endif
