#ifndef QK_QRESIZE_H
#define QK_QRESIZE_H
#include <stdint.h>

/* Resamples axes 1 and 3 of codes x [outer, in[0], mid, in[1], inner] linearly to y [outer, out[0],
 * mid, out[1], inner]. Each element of the result lies between two places of either axis: places
 * and weights are pairs, one per element of the axis. Types are those of kernels/common/codes.h.
 *
 * qk_qresize         weights are multiples of 2^-bits that add up to 1; the exact sum of 32 bits,
 *                    _wide: of 64, is rescaled; x and y may have different scales
 * qk_qresize_fixed   the exact sum divided by 2^(2 bits), towards 0
 * qk_qresize_ort     float weights, qn_bilinear_code_ort; axis 1 holds the rows, or the columns if
 *                    `transposed`; the planes from `twice` on are added twice
 *
 * Arguments: x, places and weights of axis 1, places and weights of axis 3, y. */
typedef struct {
  int32_t outer, mid, inner;
  int32_t in[2], out[2];
  int32_t type_x, type_y;
  int32_t bits, zx, zero, lo, hi;
  float multiplier;
  int32_t q31, mantissa, shift; /* with q31: the multiplier as integers */
  int32_t transposed, twice;
} qk_qresize_params;

#endif
