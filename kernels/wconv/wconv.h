#ifndef QK_WCONV_H
#define QK_WCONV_H
#include <stdint.h>

/* Convolution of floats with codes of weights, over up to three spatial axes (depth, height, width;
 * unused ones have size 1), decoded as they are needed: each output is one chain of fused
 * multiply-adds from the bias (or 0) on, taps inside the input ascending and inputs within them, a
 * weight being (code - zero point) * scale. x and y are row-major [n, c, d, h, w], or channels-last
 * with `nhwc`.
 *
 * qk_wconv        codes i8 in panels [groups][ceil(ocg / 16)][taps][icg][16]; scales in
 *                 [groups][ceil(ocg / 16)][taps with by_tap][ceil(icg / group)][16]
 * qk_wconv_depthwise  one input and output channel per group: codes [taps][c], scales [taps with
 *                 by_tap][c]
 * qk_wconv_transpose  transposed, row-major, of the chain that qk_conv_transpose_f32 has: codes
 *                 [ic][ocg][taps], scales and zero points [oc]
 * Arguments: x, w, scales, zero points (like scales; null: `zero` for all), bias (may be null), y.
 */
typedef struct {
  int32_t n, ic, oc, groups;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3];
  int32_t nhwc;
  int32_t group, by_tap, zero;
  int32_t first, count; /* panels, positions or channels of images, kernels/common/range.h */
} qk_wconv_params;

#endif
