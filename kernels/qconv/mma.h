/* Convolutions of channels-last codes on GPUs; products are convolutions of one tap. Tensor cores
 * compute tiles of outputs, a block of threads each (mma.cu), older GPUs four outputs a thread by
 * sums of four products (dp4a.cu). */
#ifndef QK_QCONV_MMA_H
#define QK_QCONV_MMA_H
#include <stdint.h>

#include "kernels/common/inline.h"

/* y [n, positions, oc] of x [n, positions, ic], codes i8 or u8, and w [oc][depth] i8 with the sum
 * of the weights of each output behind it (i32): what a zero point of x takes away. `shape` is the
 * number of a qk_mma_shape. With
 * `per_row` there is a scale, and a zero point, for each position. The rest is as in
 * kernels/qconv/qconv.h.
 *
 * The terms of a sum lie in runs, each rounded up to 16 bytes: a run is what lies side by side in
 * x, one tap or, with `lines`, the taps of a line of the window. The outputs are rounded up to the
 * columns of the shape and the depth to its chunk; weights beyond are 0. */
typedef struct {
  int32_t n, ic, oc;
  int32_t in[3], out[3], k[3];
  int32_t stride[3], dilation[3], pad[3];
  int32_t shape, lines, per_row;
  int32_t x_type, x_zero;
  int32_t y_type, y_zero, lo, hi, q31;
  float bias_factor;
  int32_t r_kind, r_first, r_type, r_za, r_zb, r_y_type, r_zero, r_lo, r_hi, r_lowest;
  float r_ra, r_rb, r_shift, r_divisor;
  int32_t r_reciprocal;
  int32_t r_ma, r_mb, r_mshift;
} qk_qconv_mma_params;

/* How 256 threads share a tile of rows (positions) and columns (outputs): `stages` chunks of its
 * terms, 4 or 6, lie in shared memory at a time. The 8 warps are warps_m x warps_n parts of the
 * tile; what is left of them divides the terms of a chunk. */
typedef struct qk_mma_shape {
  int32_t rows, columns, chunk, stages, warps_m, warps_n;
} qk_mma_shape;

#define QK_MMA_SHAPES 7 /* of tiles; one more is that of a thread of dp4a.cu */
#define QK_MMA_LINES 4  /* the first for terms that lie in `lines`, which large chunks suit */

/* From the largest, for products that fill a GPU, to the smallest, for a few positions with many
 * terms. Each takes at most 96 KiB of shared memory, which all GPUs from sm_80 on have. Those of
 * 192 rows are for products of which the largest would leave multiprocessors without work. */
QK_INLINE qk_mma_shape qk_mma_shape_of(int32_t shape) {
  const qk_mma_shape none = {0, 0, 0, 0, 0, 0};
  const qk_mma_shape a = {256, 128, 64, 4, 4, 2}, b = {192, 128, 64, 4, 4, 2};
  const qk_mma_shape c = {128, 128, 64, 4, 2, 4}, d = {128, 64, 64, 4, 4, 2};
  const qk_mma_shape e = {64, 64, 128, 4, 2, 2}, f = {64, 32, 128, 6, 2, 1};
  const qk_mma_shape g = {32, 32, 256, 6, 1, 1}, h = {1, 4, 16, 0, 0, 0};
  switch (shape) {
    case 0:
      return a;
    case 1:
      return b;
    case 2:
      return c;
    case 3:
      return d;
    case 4:
      return e;
    case 5:
      return f;
    case 6:
      return g;
    case QK_MMA_SHAPES:
      return h;
    default:
      return none;
  }
}

/* Whether each warp has all terms of its part of a tile: then its threads write what they summed.
 */
QK_INLINE int qk_mma_is_direct(const qk_mma_shape shape) {
  return shape.warps_m * shape.warps_n == 8;
}
/* The row of the packed weights in which output n lies. Of a part's columns in groups of eight, a
 * thread sums pairs, the same of each group: weights lie so that these are neighbours. */
QK_INLINE int32_t qk_mma_row_of(const qk_mma_shape shape, int32_t n) {
  if (!qk_mma_is_direct(shape)) return n;
  const int32_t wide = shape.columns / shape.warps_n, own = n % wide;
  const int32_t thread = own / (wide / 4), i = own % (wide / 4);
  return n - own + i / 2 * 8 + thread * 2 + i % 2;
}

/* Bytes of the runs of a window. */
QK_INLINE int32_t qk_mma_run(const qk_qconv_mma_params* p) {
  return ((p->lines ? p->k[2] : 1) * p->ic + 15) / 16 * 16;
}
QK_INLINE int32_t qk_mma_runs(const qk_qconv_mma_params* p) {
  return p->k[0] * p->k[1] * (p->lines ? 1 : p->k[2]);
}
/* Terms of a sum, and outputs, as they are packed. */
QK_INLINE int32_t qk_mma_depth(const qk_qconv_mma_params* p) {
  const int32_t chunk = qk_mma_shape_of(p->shape).chunk;
  return (qk_mma_runs(p) * qk_mma_run(p) + chunk - 1) / chunk * chunk;
}
QK_INLINE int32_t qk_mma_outputs(const qk_qconv_mma_params* p) {
  const int32_t columns = qk_mma_shape_of(p->shape).columns;
  return (p->oc + columns - 1) / columns * columns;
}

#endif
