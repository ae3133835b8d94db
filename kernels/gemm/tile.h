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

#define QK_DEFINE_TILE(M, P)                                                             \
  QK_SHARED void qk_tile_##M##x##P(const qk_tile* t, const float* x, const float* w,     \
                                   const float* bias, const float* residual, float* y,   \
                                   int32_t columns) {                                    \
    const ptrdiff_t x_row = t->x_row, y_row = t->y_row, w_panel = t->w_panel;            \
    const int32_t k = t->k;                                                              \
    qk_v16 acc[M][P];                                                                    \
    QK_UNROLL for (int p = 0; p < P; ++p) {                                              \
      const int32_t left = columns - 16 * p;                                             \
      const qk_v16 start =                                                               \
          bias ? qk_v16_load_n(bias + 16 * p, left < 16 ? left : 16) : qk_v16_set(0.0f); \
      QK_UNROLL for (int m = 0; m < M; ++m) acc[m][p] = start;                           \
    }                                                                                    \
    for (int32_t a = 0; a < t->taps[0]; ++a) {                                           \
      for (int32_t b = 0; b < t->taps[1]; ++b) {                                         \
        for (int32_t c = 0; c < t->taps[2]; ++c) {                                       \
          const float* xk = x + (a * t->x_tap[0] + b * t->x_tap[1] + c * t->x_tap[2]);   \
          const float* wk = w + (a * t->w_tap[0] + b * t->w_tap[1] + c * t->w_tap[2]);   \
          for (int32_t i = 0; i < k; ++i, ++xk, wk += 16) {                              \
            qk_v16 wv[P];                                                                \
            QK_UNROLL for (int p = 0; p < P; ++p) {                                      \
              wv[p] = qk_v16_load(wk + p * w_panel);                                     \
              QK_V16_KEEP(wv[p]);                                                        \
            }                                                                            \
            QK_UNROLL for (int m = 0; m < M; ++m) {                                      \
              const float xm = xk[m * x_row];                                            \
              QK_UNROLL for (int p = 0; p < P; ++p) qk_v16_mac(&acc[m][p], xm, wv[p]);   \
            }                                                                            \
            QK_UNROLL for (int m = 0; m < M; ++m) {                                      \
              QK_UNROLL for (int p = 0; p < P; ++p) QK_V16_KEEP(acc[m][p]);              \
            }                                                                            \
          }                                                                              \
        }                                                                                \
      }                                                                                  \
    }                                                                                    \
    QK_UNROLL for (int p = 0; p < P; ++p) {                                              \
      QK_UNROLL for (int m = 0; m < M; ++m) qk_v16_limit(&acc[m][p], t->lo, t->hi);      \
    }                                                                                    \
    if (residual) {                                                                      \
      QK_UNROLL for (int p = 0; p < P; ++p) {                                            \
        const int32_t lanes = columns - 16 * p < 16 ? columns - 16 * p : 16;             \
        QK_UNROLL for (int m = 0; m < M; ++m) {                                          \
          qk_v16_add_n(&acc[m][p], residual + m * y_row + 16 * p, lanes);                \
          qk_v16_limit(&acc[m][p], t->rlo, t->rhi);                                      \
        }                                                                                \
      }                                                                                  \
    }                                                                                    \
    QK_UNROLL for (int p = 0; p < P; ++p) {                                              \
      const int32_t lanes = columns - 16 * p < 16 ? columns - 16 * p : 16;               \
      QK_UNROLL for (int m = 0; m < M; ++m) {                                            \
        qk_v16_store_n(y + m * y_row + 16 * p, acc[m][p], lanes);                        \
      }                                                                                  \
    }                                                                                    \
  }

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
QK_DEFINE_TILE(1, 1)
QK_DEFINE_TILE(4, 1)
QK_DEFINE_TILE(12, 1)
QK_DEFINE_TILE(1, 2)
QK_DEFINE_TILE(2, 2)
QK_DEFINE_TILE(4, 2)
QK_DEFINE_TILE(6, 2)
QK_DEFINE_TILE(12, 2)
QK_DEFINE_TILE(1, 3)
QK_DEFINE_TILE(2, 3)
QK_DEFINE_TILE(4, 3)
QK_DEFINE_TILE(8, 3)
QK_DEFINE_TILE(1, 4)
QK_DEFINE_TILE(2, 4)
QK_DEFINE_TILE(4, 4)
QK_DEFINE_TILE(6, 4)
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
QK_DEFINE_TILE(1, 1)
QK_DEFINE_TILE(2, 1)
QK_DEFINE_TILE(4, 1)
#if QK_VEC16_REGISTERS
QK_DEFINE_TILE(6, 1)
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

/* `rows` rows by `columns` outputs; `bias` and `residual` may be null. */
QK_INLINE void qk_run_rows(const qk_tile* t, const float* x, const float* w, const float* bias,
                           const float* residual, float* y, int32_t rows, int32_t columns,
                           int32_t panels) {
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
