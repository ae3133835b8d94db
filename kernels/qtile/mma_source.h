/* Where the terms of a tile are in x: shared by tensor cores and the plain loops beside them. */
#ifndef QK_QTILE_MMA_SOURCE_H
#define QK_QTILE_MMA_SOURCE_H

#include "kernels/qtile/qtile.h"

QK_INLINE int64_t qk_mma_rows(const qk_qtile_params* p) {
  return (int64_t)p->n * p->out[0] * p->out[1] * p->out[2];
}
QK_INLINE int64_t qk_mma_row_tiles(const qk_qtile_params* p) {
  const int32_t rows = qk_mma_shape_of(p->shape).rows;
  return (qk_mma_rows(p) + rows - 1) / rows;
}

QK_INLINE int64_t qk_mma_tiles(const qk_qtile_params* p) {
  return qk_mma_row_tiles(p) * (qk_mma_outputs(p) / qk_mma_shape_of(p->shape).columns);
}
/* Bytes of shared memory. */
QK_INLINE int32_t qk_mma_tile_memory(const qk_qtile_params* p) {
  const qk_mma_shape s = qk_mma_shape_of(p->shape);
  return (s.rows + s.columns) * s.chunk * s.stages;
}

/* The first row and column of a tile. Tiles that run at the same time form a square, so that they
 * read the same x and w: eight rows of tiles, one column after another. */
typedef struct qk_mma_tile {
  int64_t row;
  int32_t column;
} qk_mma_tile;

QK_INLINE qk_mma_tile qk_mma_tile_of(const qk_qtile_params* p, int64_t unit) {
  const qk_mma_shape shape = qk_mma_shape_of(p->shape);
  const uint32_t tiles = (uint32_t)qk_mma_row_tiles(p);
  const uint32_t columns = (uint32_t)(qk_mma_outputs(p) / shape.columns);
  const uint32_t group = (uint32_t)unit / (8 * columns),
                 rest = (uint32_t)unit - group * 8 * columns;
  const uint32_t left = tiles - group * 8, column = left < 8 ? rest / left : rest / 8;
  qk_mma_tile tile;
  tile.row = (int64_t)(group * 8 + rest - column * (left < 8 ? left : 8)) * shape.rows;
  tile.column = (int32_t)column * shape.columns;
  return tile;
}

/* Where the window of an output position begins: in x, in elements from its first, which may be
 * outside, and in its image. */
typedef struct qk_mma_window {
  int64_t begin;
  int32_t at[3];
} qk_mma_window;

/* Rows behind the last are the last again; there are less than 2^32. Without a loop over the axes:
 * compilers must see early that parameters are constants. */
QK_INLINE qk_mma_window qk_mma_window_of(const qk_qtile_params* p, int64_t any) {
  qk_mma_window w;
  const uint32_t row = (uint32_t)(any < qk_mma_rows(p) ? any : qk_mma_rows(p) - 1);
  const uint32_t line = row / (uint32_t)p->out[2], plane = line / (uint32_t)p->out[1];
  const int64_t image = plane / (uint32_t)p->out[0];
  w.at[2] = (int32_t)(row - line * (uint32_t)p->out[2]) * p->stride[2] - p->pad[2];
  w.at[1] = (int32_t)(line - plane * (uint32_t)p->out[1]) * p->stride[1] - p->pad[1];
  w.at[0] = ((int32_t)plane - (int32_t)image * p->out[0]) * p->stride[0] - p->pad[0];
  w.begin = (((image * p->in[0] + w.at[0]) * p->in[1] + w.at[1]) * p->in[2] + w.at[2]) * p->ic;
  return w;
}

/* Whether all windows are inside x. */
QK_INLINE int qk_mma_inside(const qk_qtile_params* p, int axis) {
  return p->pad[axis] <= 0 && (p->out[axis] - 1) * p->stride[axis] - p->pad[axis] +
                                      (p->k[axis] - 1) * p->dilation[axis] <
                                  p->in[axis];
}

/* The term k: the taps at which its run begins, and its byte in the run. */
typedef struct qk_mma_term {
  int32_t tap[3], byte;
} qk_mma_term;

QK_INLINE qk_mma_term qk_mma_term_of(const qk_qtile_params* p, int32_t k) {
  qk_mma_term t;
  const int32_t run = qk_mma_runs(p) == 1 ? 0 : k / qk_mma_run(p);
  const int32_t line = p->lines ? run : run / p->k[2];
  t.byte = k - run * qk_mma_run(p);
  t.tap[2] = p->lines ? 0 : run - line * p->k[2];
  t.tap[0] = line / p->k[1]; /* k[0] and more: no run */
  t.tap[1] = line - t.tap[0] * p->k[1];
  return t;
}

/* Whether a window's term is in a line of x; where in the line, it may be left or right of it. */
QK_INLINE int qk_mma_in_line(const qk_qtile_params* p, const qk_mma_window* w,
                             const qk_mma_term* t) {
  const int32_t d = w->at[0] + t->tap[0] * p->dilation[0];
  const int32_t h = w->at[1] + t->tap[1] * p->dilation[1];
  return (qk_mma_inside(p, 0) || (d >= 0 && d < p->in[0])) &&
         (qk_mma_inside(p, 1) || (h >= 0 && h < p->in[1]));
}
QK_INLINE int32_t qk_mma_at_in_line(const qk_qtile_params* p, const qk_mma_window* w,
                                    const qk_mma_term* t) {
  return (w->at[2] + t->tap[2] * p->dilation[2]) * p->ic + t->byte;
}
/* Whether there is such a term at all: there are none behind the last run. */
QK_INLINE int qk_mma_is_term(const qk_qtile_params* p, const qk_mma_term* t) {
  return t->tap[0] < p->k[0] && (qk_mma_runs(p) > 1 || t->byte < qk_mma_run(p));
}
/* Where a term is in x, from where its window begins. */
QK_INLINE int32_t qk_mma_offset(const qk_qtile_params* p, const qk_mma_term* t) {
  const int32_t line = t->tap[0] * p->dilation[0] * p->in[1] + t->tap[1] * p->dilation[1];
  return (line * p->in[2] + t->tap[2] * p->dilation[2]) * p->ic + t->byte;
}

#endif
