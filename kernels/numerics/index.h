#ifndef QK_INDEX_H
#define QK_INDEX_H
#include <stdint.h>

#include "kernels/numerics/base.h"

/* `index` counted from the end when negative, then limited to [0, size). */
QN_FN int64_t qn_index(int64_t index, int64_t size) {
  const int64_t i = index < 0 ? index + size : index;
  return i < 0 ? 0 : i >= size ? size - 1 : i;
}

#endif
