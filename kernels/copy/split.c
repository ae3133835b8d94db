/* A unit is 16 bytes. */
#include "kernels/common/split.h"

#include "kernels/copy/copy.h"
#include "kernels/copy/operands.h"

QK_INLINE int32_t qk_copy_units(const qk_copy_params* p) { return qk_units_of(p->bytes, 16); }
QK_INLINE int32_t qk_copy_subrange(qk_copy_params* p, const void** in, void** out, int32_t* units) {
  const qk_items r = qk_items_of(units, p->bytes, 16);
  qk_move(&in[QK_COPY_IN_X], r.first);
  qk_move_result(&out[QK_COPY_OUT_Y], r.first);
  p->bytes = r.count;
  return r.next;
}
