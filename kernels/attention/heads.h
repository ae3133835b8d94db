#ifndef QK_ATTENTION_HEADS_H
#define QK_ATTENTION_HEADS_H
#include <stddef.h>
#include <stdint.h>

#include "kernels/common/inline.h"

/* The first element of head h of batch b; `at` has the strides of batches, heads and rows. */
QK_INLINE ptrdiff_t qk_head_at(const int32_t* at, int32_t b, int32_t h) {
  return (ptrdiff_t)b * at[0] + (ptrdiff_t)h * at[1];
}

#endif
