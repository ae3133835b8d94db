/* qgemm with AVX2: y [m, n] of codes u8 x [m, k] and weights packed by kernels/qtile/pack.h with
 * QK_PANELS_AVX2 (bias, multipliers and the bias of floats are in the blob).
 *
 * Takes the calls that kernels/qtile/accepts.h allows, with the bits of qk_qgemm; `batch` matrices
 * whose weights are one blob (w_batch 0) or one blob each, w_batch bytes apart. Needs avx2 and fma
 * for all functions. Blobs lie at multiples of 4 bytes, on 64 they are fastest; no scratch; at most
 * 4 KiB of stack. */
#include "kernels/common/inline.h"
#include "kernels/qtile/avx2_tile.h"
/* The loops need the tile. */
#include "kernels/qgemm/packed_gemm.h"

QK_INLINE void qk_qgemm_avx2(const qk_qgemm_params* p, const uint8_t* x, const uint8_t* w,
                             const float* x_scales, const int32_t* x_zeros, const void* residual,
                             const int32_t* panels, const int32_t* w_zeros, const int32_t* y_zeros,
                             void* y) {
  qk_packed_gemm(p, x, w, x_scales, x_zeros, residual, panels, w_zeros, y_zeros, y);
}

QK_INLINE void qk_qgemm_prepack_avx2(const qk_qgemm_prepack_params* p, const uint8_t* w,
                                     const int32_t* bias, const float* multipliers,
                                     const float* float_bias, uint8_t* packed) {
  qk_packed_prepack(p, w, bias, multipliers, float_bias, packed);
}
