/* Which taps of a window fall inside the input, along one axis. */
#ifndef QK_CONV_TAPS_H
#define QK_CONV_TAPS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/common/inline.h"

/* Taps [*first, *last) of k that fall inside `in` inputs when tap 0 is at `at`. */
QK_INLINE void qk_taps(int32_t at, int32_t dilation, int32_t k, int32_t in, int32_t* first,
                       int32_t* last) {
  const int32_t room = in - at;
  const int32_t end = room <= 0 ? 0 : (room + dilation - 1) / dilation;
  *first = at >= 0 ? 0 : (-at + dilation - 1) / dilation;
  *last = end < k ? end : k;
  if (*last < *first) *last = *first;
}

/* Output positions [*low, *high) for which every tap is inside. */
QK_INLINE void qk_taps_inside(int32_t in, int32_t out, int32_t k, int32_t stride, int32_t dilation,
                              int32_t pad, int32_t* low, int32_t* high) {
  const int32_t room = in + pad - (k - 1) * dilation;
  const int32_t first = pad > 0 ? (pad + stride - 1) / stride : 0;
  const int32_t last = room <= 0 ? 0 : (room + stride - 1) / stride;
  *high = last < out ? last : out;
  *low = first < *high ? first : *high;
}

/* A rectangle of output positions whose taps are the same: rows [h, h + rows), columns
 * [w, w + columns). */
typedef struct qk_rect {
  int32_t h, w, rows, columns;
} qk_rect;

/* Covers out[1] by out[2] positions with rectangles: one of rows [top, bottom) and columns
 * [left, right), whose taps are all inside, and strips around it. */
#define QK_FOR_EACH_RECT(r, out, top, bottom, left, right)                                         \
  for ((r).h = 0;                                                                                  \
       (r).h < (out)[1] && ((r).rows = (r).h == (top) && (bottom) > (top) ? (bottom) - (top) : 1); \
       (r).h += (r).rows)                                                                          \
    for ((r).w = 0; (r).w < (out)[2] &&                                                            \
                    ((r).columns = (r).w == (left) && (right) > (left) ? (right) - (left) : 1);    \
         (r).w += (r).columns)

/* Positions as lines of neighbours, with the strides to the next line and the next neighbour. */
typedef struct qk_lines {
  int32_t lines, length;
  ptrdiff_t x_line, y_line, x_row, y_row;
} qk_lines;

/* The same positions in as few, long lines as the strides allow. */
QK_INLINE qk_lines qk_long_lines(qk_lines l) {
  if (l.x_line == l.length * l.x_row &&
      l.y_line == l.length * l.y_row) { /* they follow each other */
    l.length *= l.lines;
    l.lines = 1;
  } else if (l.length < l.lines && l.length < 6) { /* a narrow strip goes downwards */
    const qk_lines down = {l.length, l.lines, l.x_row, l.y_row, l.x_line, l.y_line};
    return down;
  }
  return l;
}

#endif
