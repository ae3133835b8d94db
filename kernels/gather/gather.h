#ifndef QK_GATHER_H
#define QK_GATHER_H
#include <stdint.h>

/* Indices are read as int64_t or int32_t after the kernel's suffix. A negative index counts from
 * the end; one that is still outside the axis is clamped to its first or last element. */

/* y[o, i, :] = x[o, index[i], :] for o < outer, i < count, with blocks of `block` bytes; x has
 * `size` blocks along the axis. */
typedef struct {
  int32_t outer, size, count, block;
} qk_gather_params;

/* y[i...] = x[i... with i[axis] replaced by index[i...]] over dims, the dims of index and y. The
 * strides xs of x, 0 along the axis, and its stride along the axis count elements of `block` bytes.
 */
typedef struct {
  int32_t dims[8], xs[8];
  int32_t size, stride, block;
} qk_gather_elements_params;

/* y[b, i, :] = x[b, index[b, i, 0], ..., index[b, i, depth - 1], :] for b < batch, i < rows. dims
 * are the indexed dims of x; `inner` is their product, in blocks of `block` bytes. */
typedef struct {
  int32_t batch, rows, depth, inner, block;
  int32_t dims[8];
} qk_gather_nd_params;

/* y[i...] = x[sum over axes of table_a[i[a]]]: table lists the offsets of each axis one after the
 * other, in elements of `block` bytes. */
typedef struct {
  int32_t dims[8];
  int32_t block;
} qk_gather_table_params;

#endif
