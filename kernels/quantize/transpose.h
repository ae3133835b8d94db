/* Blocks of arrays that are transposed, x [batch][rows][columns] to y [batch][columns][rows]: 16
 * bytes of x and of y are contiguous in each. A unit is a block. */
#ifndef QK_QUANTIZE_TRANSPOSE_H
#define QK_QUANTIZE_TRANSPOSE_H

#include <string.h>

#include "kernels/common/cuda.h"
#include "kernels/common/unroll.h"
#include "kernels/quantize/quantize.h"

/* A block's first element in x and in y, and how much of it there is. */
typedef struct qk_transpose_block {
  int64_t x, y;
  int32_t rows, columns;
} qk_transpose_block;

QK_UNIT int64_t qk_transpose_blocks(const qk_quantize_transposed_params* p, int32_t rows,
                                    int32_t columns) {
  return (int64_t)p->batch * ((p->rows + rows - 1) / rows) * ((p->columns + columns - 1) / columns);
}
/* Threads beside each other have blocks whose `along` lie beside each other: columns, or rows. */
QK_UNIT qk_transpose_block qk_transpose_block_at(const qk_quantize_transposed_params* p,
                                                 int64_t unit, int32_t rows, int32_t columns,
                                                 int along_rows) {
  const uint32_t down = (uint32_t)(p->rows + rows - 1) / (uint32_t)rows;
  const uint32_t across = (uint32_t)(p->columns + columns - 1) / (uint32_t)columns;
  const uint32_t own = (uint32_t)unit, first = along_rows ? down : across;
  const uint32_t second = along_rows ? across : down, rest = own / first;
  const uint32_t i = own % first, k = rest % second;
  const int32_t row = (int32_t)(along_rows ? i : k) * rows;
  const int32_t column = (int32_t)(along_rows ? k : i) * columns;
  const int64_t image = (int64_t)(rest / second) * p->rows * p->columns;
  const qk_transpose_block b = {image + (int64_t)row * p->columns + column,
                                image + (int64_t)column * p->rows + row,
                                p->rows - row < rows ? p->rows - row : rows,
                                p->columns - column < columns ? p->columns - column : columns};
  return b;
}

/* Whether elements are bytes; a function, so that no compiler finds loops that others never reach.
 */
QK_UNIT int qk_transpose_bytes(size_t size) { return size == 1; }
/* 16 bytes, aligned. */
QK_UNIT void qk_transpose_load(uint32_t* to, const void* from) {
#if defined(__CUDA_ARCH__)
  const uint4 own = *(const uint4*)from;
  to[0] = own.x;
  to[1] = own.y;
  to[2] = own.z;
  to[3] = own.w;
#else
  memcpy(to, from, 16);
#endif
}
QK_UNIT void qk_transpose_store(void* to, const uint32_t* from) {
#if defined(__CUDA_ARCH__)
  *(uint4*)to = make_uint4(from[0], from[1], from[2], from[3]);
#else
  memcpy(to, from, 16);
#endif
}

#endif
