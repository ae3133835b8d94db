/* qconv with AVX2: x and y channels-last, weights packed by kernels/qtile/pack.h with
 * QK_PANELS_AVX2 and qk_qconv_packing (bias, multipliers and the bias of floats are in the blob).
 *
 * Takes the calls that kernels/qtile/accepts.h allows, with the bits of qk_qconv_nhwc: up to three
 * spatial axes, any strides, dilations, padding and groups. Groups with few channels waste most of
 * a vector. Needs avx2 and fma for all functions. Blobs lie at multiples of 4 bytes, on 64 they are
 * fastest; no scratch; at most 4 KiB of stack. */
#include "kernels/common/inline.h"
#include "kernels/qtile/avx2_tile.h"
/* The loops need the tile. */
#include "kernels/qconv/packed_conv.h"

QK_INLINE void qk_qconv_avx2(const qk_qconv_params* p, const uint8_t* x, const uint8_t* w,
                             const float* x_scale, const int32_t* x_zero, const void* residual,
                             const int32_t* panels, void* y) {
  qk_packed_conv(p, x, w, x_scale, x_zero, residual, panels, y);
}
