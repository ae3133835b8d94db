#ifndef QK_SCATTER_H
#define QK_SCATTER_H
#include <stdint.h>

/* Writes updates into a copy of x at indexed places, in the order of the updates. A negative index
 * counts from the end; an update whose index is still outside its axis is dropped. `how` says what
 * an update does to the value there (kernels/numerics/combine.h); suffixes 1 to 8 are bytes of
 * elements of any type and replace. y may be x. */

/* One index per update: dims are those of index and updates; ys the strides of y, 0 along the axis.
 */
typedef struct {
  int32_t total, size, stride, how;
  int32_t dims[8], ys[8];
} qk_scatter_elements_params;

/* Tuples of `depth` indices, each for `block` elements; dims are the indexed dims of x. */
typedef struct {
  int32_t total, rows, depth, block, how;
  int32_t dims[8];
} qk_scatter_nd_params;

#endif
