/* A unit is a number of a sequence; sizes are written all at once. */
#include "kernels/common/split.h"

#include "kernels/sequence/operands.h"
#include "kernels/sequence/sequence.h"

QK_INLINE int32_t qk_sequence_units(const qk_sequence_params* p) { return p->n; }
QK_INLINE int32_t qk_sequence_subrange(qk_sequence_params* p, const void** in, void** out,
                                       int32_t* units) {
  (void)in;
  p->start += p->step * units[0];
  p->n = units[1] - units[0];
  qk_move_result(&out[QK_SEQUENCE_OUT_Y], (ptrdiff_t)units[0] * 8);
  return units[1];
}
QK_INLINE int32_t qk_sizes_units(const qk_sizes_params* p) { return p->n > 0; }
QK_INLINE int32_t qk_sizes_subrange(qk_sizes_params* p, const void** in, void** out,
                                    int32_t* units) {
  (void)p;
  (void)in;
  (void)out;
  return units[1];
}
