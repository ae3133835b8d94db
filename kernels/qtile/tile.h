/* The tile of every dense product of codes: M rows by P panels of 16 outputs, all accumulators in
 * registers.
 *
 * A row is one output pixel or one row of a matrix; its products are runs of k neighbouring inputs,
 * one run per tap. Inputs are widened to 16 bits, less their zero point, some of them at a time.
 * Weights of 8 bits lie in panels [outputs / 16][runs][pairs of k][16][2], an odd run filled up
 * with 0. Accumulators are exact modulo 2^32.
 */
#ifndef QK_QTILE_TILE_H
#define QK_QTILE_TILE_H

#include "kernels/common/body.h"
#include "kernels/qtile/block.h"

/* What the tiles of one call share. */
typedef struct qk_qtile {
  int32_t taps[3], k;          /* runs along three axes, inputs of a run */
  int32_t lead;                /* 1: the first run starts with the second half of a pair */
  ptrdiff_t x_tap[3];          /* from tap to tap in the input, bytes */
  ptrdiff_t w_tap[3], w_panel; /* from tap to tap and from panel to panel in the weights, bytes */
  ptrdiff_t x_row, y_row;      /* from row to row: bytes, elements */
  int32_t x_type, x_size, x_zero;
  int32_t simple;         /* codes of 8 bits, one zero point, weights without zero points */
  int32_t per_row;        /* x_scales and x_zeros have one element per row */
  const int32_t* x_zeros; /* instead of x_zero, may be null */
  const float* x_scales;  /* may be null */
  const int32_t* bias;    /* of the accumulators, one per channel, may be null */
  const int32_t* w_zeros; /* of the weights, one per channel, may be null */
  int32_t channel;        /* of the first output */
  qk_q_output out;
} qk_qtile;

/* n codes of each of `rows` rows less their zero points, for any type of codes and zero points of
 * any row; `totals` are added up where weights have zero points. */
QK_SHARED void qk_q_widen_rows(const qk_qtile* t, int32_t row, int32_t rows, const uint8_t* x,
                               int32_t n, int16_t* to, uint32_t* totals) {
  for (int32_t m = 0; m < rows; ++m, x += t->x_row, to += QK_Q_CHUNK) {
    const int32_t zero = t->x_zeros ? t->x_zeros[t->per_row * (row + m)] : t->x_zero;
    int32_t total = 0;
    for (int32_t i = 0; i < n; ++i) {
      to[i] = (int16_t)(qk_load_code(x, t->x_type, i) - zero);
      total += to[i];
    }
    totals[m] += (uint32_t)total;
  }
}

/* Takes the zero points of weights off the accumulators of a block of `rows` by `panels`. */
QK_SHARED void qk_q_less_zeros(const qk_qtile* t, const uint32_t* totals, int32_t rows,
                               int32_t panels, int32_t columns, int32_t* accumulators) {
  for (int32_t m = 0; m < rows; ++m, accumulators += 16 * panels) {
    for (int32_t j = 0; j < columns; ++j) {
      const uint32_t zero = (uint32_t)t->w_zeros[t->channel + j];
      accumulators[j] = (int32_t)((uint32_t)accumulators[j] - totals[m] * zero);
    }
  }
}

/* Products of n widened inputs of each row with their weights. */
#if QK_ACC_REGISTERS == 0
#define QK_Q_DOTS(M, P, n)                                                \
  for (int m = 0; m < M; ++m) {                                           \
    for (int p = 0; p < P; ++p) {                                         \
      qk_acc_run(&acc[m][p], wk + p * w_panel, u.xs + m * QK_Q_CHUNK, n); \
    }                                                                     \
  }
#else
#define QK_Q_DOTS(M, P, n)                                                                  \
  for (int32_t i = 0; i < (n); i += 2) {                                                    \
    qk_pairs wv[P];                                                                         \
    QK_UNROLL for (int p = 0; p < P; ++p) wv[p] = qk_pairs_load(wk + i * 16 + p * w_panel); \
    QK_UNROLL for (int m = 0; m < M; ++m) {                                                 \
      QK_UNROLL for (int p = 0; p < P; ++p) {                                               \
        qk_acc_dot(&acc[m][p], wv[p], u.xs + m * QK_Q_CHUNK + i);                           \
      }                                                                                     \
    }                                                                                       \
  }
#endif

/* Runs tiles of M rows while they fit. */
#define QK_RUN_QTILES(name, M)                                            \
  for (; row + M <= rows; row += M) {                                     \
    name(t, row, x + row * t->x_row, w, y, at + row * t->y_row, columns); \
  }
#define QK_QROWS(name, RUN)                                                                        \
  QK_INLINE void name(const qk_qtile* t, const uint8_t* x, const int8_t* w, void* y, ptrdiff_t at, \
                      int32_t rows, int32_t columns) {                                             \
    int32_t row = 0;                                                                               \
    RUN                                                                                            \
  }

/* M * P accumulators of 16 lie on the stack when they become results: at most 12 of them, 768
 * bytes. */
#define QK_WITH qk_qtile_any_1, 1, 1, 1
#include "kernels/qtile/tile.inc"
#define QK_WITH qk_qtile_any_4, 4, 1, 1
#include "kernels/qtile/tile.inc"
QK_QROWS(qk_qrows_any, QK_RUN_QTILES(qk_qtile_any_4, 4) QK_RUN_QTILES(qk_qtile_any_1, 1))
#if QK_ACC_REGISTERS != 0
#define QK_QROWS_TOGETHER (QK_ACC_REGISTERS == 1 ? 10 : 6)
#define QK_WITH qk_qtile_1x1, 1, 1, 0
#include "kernels/qtile/tile.inc"
#define QK_WITH qk_qtile_3x1, 3, 1, 0
#include "kernels/qtile/tile.inc"
#define QK_WITH qk_qtile_many, QK_QROWS_TOGETHER, 1, 0
#include "kernels/qtile/tile.inc"
QK_QROWS(qk_qrows_1, QK_RUN_QTILES(qk_qtile_many, QK_QROWS_TOGETHER) QK_RUN_QTILES(qk_qtile_3x1, 3)
                         QK_RUN_QTILES(qk_qtile_1x1, 1))
#endif
#if QK_ACC_REGISTERS == 1
#define QK_WITH qk_qtile_1x2, 1, 2, 0
#include "kernels/qtile/tile.inc"
#define QK_WITH qk_qtile_2x2, 2, 2, 0
#include "kernels/qtile/tile.inc"
#define QK_WITH qk_qtile_6x2, 6, 2, 0
#include "kernels/qtile/tile.inc"
#define QK_WITH qk_qtile_1x3, 1, 3, 0
#include "kernels/qtile/tile.inc"
#define QK_WITH qk_qtile_2x3, 2, 3, 0
#include "kernels/qtile/tile.inc"
#define QK_WITH qk_qtile_4x3, 4, 3, 0
#include "kernels/qtile/tile.inc"
QK_QROWS(qk_qrows_2, QK_RUN_QTILES(qk_qtile_6x2, 6) QK_RUN_QTILES(qk_qtile_2x2, 2)
                         QK_RUN_QTILES(qk_qtile_1x2, 1))
QK_QROWS(qk_qrows_3, QK_RUN_QTILES(qk_qtile_4x3, 4) QK_RUN_QTILES(qk_qtile_2x3, 2)
                         QK_RUN_QTILES(qk_qtile_1x3, 1))
#endif

/* How many panels go together when `left` are to do. */
QK_INLINE int32_t qk_qpanels_together(int32_t left) {
  if (QK_ACC_REGISTERS != 1) return 1;
  return left == 4 ? 2 : left < 3 ? left : 3;
}

/* `rows` rows by `columns` outputs of as many panels as go together, the first of them element `at`
 * of y. */
QK_INLINE void qk_run_qrows(qk_qtile* t, const uint8_t* x, const int8_t* w, void* y, ptrdiff_t at,
                            int32_t rows, int32_t columns) {
  const int32_t channel = t->channel;
#if QK_ACC_REGISTERS != 0
  if (t->simple && columns <= 16) {
    qk_qrows_1(t, x, w, y, at, rows, columns);
    return;
  }
#endif
#if QK_ACC_REGISTERS == 1
  if (t->simple && columns <= 32) {
    qk_qrows_2(t, x, w, y, at, rows, columns);
    return;
  }
  if (t->simple) {
    qk_qrows_3(t, x, w, y, at, rows, columns);
    return;
  }
#endif
  for (int32_t done = 0; done < columns; done += 16, t->channel += 16, w += t->w_panel) {
    qk_qrows_any(t, x, w, y, at + done, rows, columns - done < 16 ? columns - done : 16);
  }
  t->channel = channel;
}

#endif
