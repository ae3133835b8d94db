/* Shapes for tests of kernels whose operands broadcast. */
#ifndef QK_TESTING_BROADCAST_H
#define QK_TESTING_BROADCAST_H
#include "kernels/common/testing.h"

/* Sizes of a result and strides of operands: each axis is walked or repeated. */
static inline int32_t qk_random_broadcast(int32_t* rank, int32_t* dims, int32_t (*steps)[8],
                                          int32_t* sizes, int n) {
  int32_t all = 1;
  *rank = qk_random_in(1, 4);
  for (int j = 0; j < n; ++j) sizes[j] = 1;
  for (int d = *rank - 1; d >= 0; --d) {
    dims[d] = qk_random_in(1, 6);
    all *= dims[d];
    for (int j = 0; j < n; ++j) {
      steps[j][d] = qk_random() % 3 ? sizes[j] : 0;
      if (steps[j][d]) sizes[j] *= dims[d];
    }
  }
  return all;
}
/* Where element `at` of the result has its operand. */
static inline int32_t qk_broadcast_position(int32_t at, int32_t rank, const int32_t* dims,
                                            const int32_t* steps) {
  int32_t out = 0;
  for (int d = rank - 1; d >= 0; at /= dims[d--]) out += at % dims[d] * steps[d];
  return out;
}

#endif
