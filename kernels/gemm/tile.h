/* The tile every dense kernel is made of: M rows by P panels of 16 outputs, all sums in registers.
 *
 * A row is one output pixel or one row of a matrix; its products are runs of k neighbouring inputs,
 * one run per tap. Weights lie in panels [outputs / 16][taps][k][16]. Each output is one chain of
 * fused multiply-adds that starts at the bias (or 0) and takes taps and k in ascending order; then
 * clamp to [lo, hi]; then, where there is a residual, its addition and a clamp to [rlo, rhi].
 */
#ifndef QK_GEMM_TILE_H
#define QK_GEMM_TILE_H

#include <stddef.h>

#include "kernels/common/body.h"
#include "kernels/common/shared.h"
#include "kernels/common/vec16.h"

/* What the tiles of one call share. Distances are in elements. */
typedef struct qk_tile {
  int32_t taps[3], k;          /* runs along three axes, products in a run */
  ptrdiff_t x_tap[3];          /* from tap to tap in the input */
  ptrdiff_t w_tap[3], w_panel; /* from tap to tap and from panel to panel in the weights */
  ptrdiff_t x_row, y_row;      /* from row to row; the residual lies like the output */
  float lo, hi, rlo, rhi;
} qk_tile;

/* Runs tiles of M rows while they fit. */
#define QK_RUN_TILES(M, P)                                                                      \
  for (; row + M <= rows; row += M) {                                                           \
    qk_tile_##M##x##P(t, x + row * t->x_row, w, bias, residual ? residual + row * t->y_row : 0, \
                      y + row * t->y_row, columns);                                             \
  }
#define QK_ROWS(P)                                                                                \
  QK_INLINE void qk_rows_##P(const qk_tile* t, const float* x, const float* w, const float* bias, \
                             const float* residual, float* y, int32_t rows, int32_t columns) {    \
    int32_t row = 0;                                                                              \
    QK_ROWS_OF_##P                                                                                \
  }

#if QK_VEC16_REGISTERS == 1
#define QK_WITH 1, 1
#include "kernels/gemm/tile.inc"
#define QK_WITH 4, 1
#include "kernels/gemm/tile.inc"
#define QK_WITH 12, 1
#include "kernels/gemm/tile.inc"
#define QK_WITH 1, 2
#include "kernels/gemm/tile.inc"
#define QK_WITH 2, 2
#include "kernels/gemm/tile.inc"
#define QK_WITH 4, 2
#include "kernels/gemm/tile.inc"
#define QK_WITH 6, 2
#include "kernels/gemm/tile.inc"
#define QK_WITH 12, 2
#include "kernels/gemm/tile.inc"
#define QK_WITH 1, 3
#include "kernels/gemm/tile.inc"
#define QK_WITH 2, 3
#include "kernels/gemm/tile.inc"
#define QK_WITH 4, 3
#include "kernels/gemm/tile.inc"
#define QK_WITH 8, 3
#include "kernels/gemm/tile.inc"
#define QK_WITH 1, 4
#include "kernels/gemm/tile.inc"
#define QK_WITH 2, 4
#include "kernels/gemm/tile.inc"
#define QK_WITH 4, 4
#include "kernels/gemm/tile.inc"
#define QK_WITH 6, 4
#include "kernels/gemm/tile.inc"
#define QK_ROWS_OF_1 QK_RUN_TILES(12, 1) QK_RUN_TILES(4, 1) QK_RUN_TILES(1, 1)
#define QK_ROWS_OF_2 \
  QK_RUN_TILES(12, 2) QK_RUN_TILES(6, 2) QK_RUN_TILES(4, 2) QK_RUN_TILES(2, 2) QK_RUN_TILES(1, 2)
#define QK_ROWS_OF_3 QK_RUN_TILES(8, 3) QK_RUN_TILES(4, 3) QK_RUN_TILES(2, 3) QK_RUN_TILES(1, 3)
#define QK_ROWS_OF_4 QK_RUN_TILES(6, 4) QK_RUN_TILES(4, 4) QK_RUN_TILES(2, 4) QK_RUN_TILES(1, 4)
QK_ROWS(1)
QK_ROWS(2)
QK_ROWS(3)
QK_ROWS(4)
#define QK_MAX_PANELS 4
#else
#define QK_WITH 1, 1
#include "kernels/gemm/tile.inc"
#define QK_WITH 2, 1
#include "kernels/gemm/tile.inc"
#define QK_WITH 4, 1
#include "kernels/gemm/tile.inc"
#if QK_VEC16_REGISTERS
#define QK_WITH 6, 1
#include "kernels/gemm/tile.inc"
#define QK_ROWS_OF_1 QK_RUN_TILES(6, 1) QK_RUN_TILES(4, 1) QK_RUN_TILES(2, 1) QK_RUN_TILES(1, 1)
#else /* sums lie on the stack */
#define QK_ROWS_OF_1 QK_RUN_TILES(4, 1) QK_RUN_TILES(2, 1) QK_RUN_TILES(1, 1)
#endif
QK_ROWS(1)
#define QK_MAX_PANELS 1
#endif

/* How many panels go together when `left` are to do. */
QK_INLINE int32_t qk_panels_together(int32_t left) {
  if (QK_MAX_PANELS == 1) return 1;
  return left >= 7 || left == 4 ? 4 : left > 3 ? 3 : left;
}

#if !QK_VEC16_REGISTERS
QK_SHARED void qk_any_rows(const qk_tile* t, const float* x, const float* w, const float* bias,
                           const float* residual, float* y, int32_t rows, int32_t columns) {
  qk_rows_1(t, x, w, bias, residual, y, rows, columns);
}
#endif

/* `rows` rows by `columns` outputs; `bias` and `residual` may be null. Where the compiler does not
 * know the numbers that `rows` follows from (`known` is 0), calls share one body; not with vector
 * registers, of whose larger tiles compilers would make copies for the arguments of each call. */
QK_INLINE void qk_run_rows(const qk_tile* t, const float* x, const float* w, const float* bias,
                           const float* residual, float* y, int32_t rows, int32_t columns,
                           int32_t panels, int known) {
#if !QK_VEC16_REGISTERS
  if (!known) {
    qk_any_rows(t, x, w, bias, residual, y, rows, columns);
    return;
  }
#endif
  (void)known;
  switch (panels) {
#if QK_MAX_PANELS == 4
    case 4:
      qk_rows_4(t, x, w, bias, residual, y, rows, columns);
      break;
    case 3:
      qk_rows_3(t, x, w, bias, residual, y, rows, columns);
      break;
    case 2:
      qk_rows_2(t, x, w, bias, residual, y, rows, columns);
      break;
#endif
    default:
      qk_rows_1(t, x, w, bias, residual, y, rows, columns);
      break;
  }
}

#endif
