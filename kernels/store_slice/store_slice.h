#ifndef QK_STORE_SLICE_H
#define QK_STORE_SLICE_H
#include <stdint.h>

/* Copies the `bytes` bytes of x, or the range `first`, `count` of them (kernels/common/range.h), to
 * slice index[0] of y, which is a whole number of such slices. */
typedef struct {
  int32_t bytes, first, count;
} qk_store_slice_params;

#endif
