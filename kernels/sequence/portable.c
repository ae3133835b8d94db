#include "kernels/common/inline.h"
#include "kernels/sequence/sequence.h"

QK_INLINE void qk_sequence(const qk_sequence_params* p, void* y) {
  int64_t* to = (int64_t*)y;
  uint64_t value = (uint64_t)p->start;
  for (int32_t i = 0; i < p->n; ++i, value += (uint64_t)p->step) to[i] = (int64_t)value;
}

QK_INLINE void qk_sizes(const qk_sizes_params* p, void* y) {
  int64_t* to = (int64_t*)y;
  for (int32_t i = 0; i < p->n; ++i) to[i] = p->values[i];
}
