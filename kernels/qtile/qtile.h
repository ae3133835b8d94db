/* Convolutions of channels-last codes on GPUs; products are convolutions of one tap. Tensor cores
 * compute tiles of outputs, a block of threads each (mma.cu, on sm_90a wgmma.cu), older GPUs four
 * outputs a thread by sums of four products (dp4a.cu). */
#ifndef QK_QTILE_H
#define QK_QTILE_H
#include <stdint.h>

#include "kernels/common/inline.h"
#include "kernels/epilogue/epilogue.h"

/* y [n, positions, oc] of x [n, positions, ic], codes i8 or u8, and w [oc][depth] i8 with the sum
 * of the weights of each output behind it (i32): what a zero point of x takes away. `shape` is the
 * number of a qk_mma_shape, `resident` what it says of blocks. With
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
  int32_t shape, resident, lines, per_row;
  int32_t x_type, x_zero;
  qk_epilogue epilogue;
} qk_qtile_params;

/* How 256 threads share a tile of rows (positions) and columns (outputs): `stages` chunks of its
 * terms lie in shared memory at a time. The 8 warps are warps_m x warps_n parts of the tile; what
 * is left of them divides the terms of a chunk. `resident` blocks of threads are to share a
 * multiprocessor, which bounds their registers; 0: as many as there is room for. */
typedef struct qk_mma_shape {
  int32_t rows, columns, chunk, stages, warps_m, warps_n, resident;
} qk_mma_shape;

#define QK_MMA_SHAPES 7  /* of the tiles of mma.cu; one more is that of a thread of dp4a.cu */
#define QK_MMA_LINES 4   /* the first for terms that lie in `lines`, which large chunks suit */
#define QK_WGMMA_FIRST 8 /* of the tiles of wgmma.cu */
#define QK_WGMMA_SHAPES 5
#define QK_SHAPE(number, ...)               \
  case number: {                            \
    const qk_mma_shape own = {__VA_ARGS__}; \
    return own;                             \
  }

/* Both from the largest, for products that fill a GPU, to the smallest, for a few positions with
 * many terms. Those of mma.cu take at most 96 KiB of shared memory, which all GPUs from sm_80 on
 * have, those of wgmma.cu 192, which sm_90 has, or 96 where two are to share a multiprocessor: one
 * then multiplies while the other writes results. Tiles of 192 are for products of which larger
 * ones would leave multiprocessors without work. */
QK_INLINE qk_mma_shape qk_mma_shape_of(int32_t shape) {
  const qk_mma_shape none = {0, 0, 0, 0, 0, 0, 0};
  switch (shape) {
    QK_SHAPE(0, 256, 128, 64, 4, 4, 2, 0)
    QK_SHAPE(1, 192, 128, 64, 4, 4, 2, 0)
    QK_SHAPE(2, 128, 128, 64, 4, 2, 4, 0)
    QK_SHAPE(3, 128, 64, 64, 4, 4, 2, 0)
    QK_SHAPE(4, 64, 64, 128, 4, 2, 2, 0)
    QK_SHAPE(5, 64, 32, 128, 6, 2, 1, 0)
    QK_SHAPE(6, 32, 32, 256, 6, 1, 1, 0)
    QK_SHAPE(7, 1, 4, 16, 0, 0, 0, 0)
    QK_SHAPE(8, 256, 128, 128, 4, 8, 1, 1)
    QK_SHAPE(9, 128, 192, 128, 4, 8, 1, 1)
    QK_SHAPE(10, 128, 128, 128, 3, 8, 1, 2)
    QK_SHAPE(11, 256, 64, 64, 4, 8, 1, 2)
    QK_SHAPE(12, 64, 128, 128, 4, 4, 2, 2)
    default:
      return none;
  }
}

/* Whether each warp has all terms of its part of a tile: then its threads write what they summed.
 */
QK_INLINE int qk_mma_is_direct(const qk_mma_shape shape) {
  return shape.warps_m * shape.warps_n == 8;
}
/* The row of the packed weights in which output n lies. Of up to 64 columns of a part in groups of
 * eight, a thread sums pairs, the same of each group: weights lie so that these are neighbours. */
QK_INLINE int32_t qk_mma_row_of(const qk_mma_shape shape, int32_t n) {
  if (!qk_mma_is_direct(shape)) return n;
  const int32_t part = shape.columns / shape.warps_n, wide = part < 64 ? part : 64, own = n % wide;
  const int32_t thread = own / (wide / 4), i = own % (wide / 4);
  return n - own + i / 2 * 8 + thread * 2 + i % 2;
}

/* Bytes of the runs of a window. */
QK_INLINE int32_t qk_mma_run(const qk_qtile_params* p) {
  return ((p->lines ? p->k[2] : 1) * p->ic + 15) / 16 * 16;
}
QK_INLINE int32_t qk_mma_runs(const qk_qtile_params* p) {
  return p->k[0] * p->k[1] * (p->lines ? 1 : p->k[2]);
}
/* Terms of a sum, and outputs, as they are packed. */
QK_INLINE int32_t qk_mma_depth(const qk_qtile_params* p) {
  const int32_t chunk = qk_mma_shape_of(p->shape).chunk;
  return (qk_mma_runs(p) * qk_mma_run(p) + chunk - 1) / chunk * chunk;
}
QK_INLINE int32_t qk_mma_outputs(const qk_qtile_params* p) {
  const int32_t columns = qk_mma_shape_of(p->shape).columns;
  return (p->oc + columns - 1) / columns * columns;
}

#endif
