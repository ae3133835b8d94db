#ifndef QK_STRIDED_H
#define QK_STRIDED_H
#include <stdint.h>

/* Copies a box of elements: y[y_offset + sum i[d] ys[d]] = x[x_offset + sum i[d] xs[d]] for all
 * 0 <= i[d] < dims[d]. Strides and offsets count elements and may be zero (x) or negative; no dim
 * is zero, unused leading dims are 1. x and y do not overlap. */
typedef struct {
  int32_t dims[8], xs[8], ys[8];
  int32_t x_offset, y_offset;
} qk_strided_params;

#endif
