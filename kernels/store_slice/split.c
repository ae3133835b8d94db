/* A unit is up to 64 bytes. */
#include "kernels/common/range.h"
#include "kernels/store_slice/store_slice.h"

QK_INLINE int32_t qk_store_slice_units(const qk_store_slice_params* p) {
  return (p->bytes + 63) / 64;
}
QK_INLINE int32_t qk_store_slice_subrange(qk_store_slice_params* p, const void** in, void** out,
                                          const int32_t* units) {
  (void)in;
  (void)out;
  p->first = units[0] * 64;
  p->count = units[1] * 64 < p->bytes ? units[1] * 64 - p->first : p->bytes - p->first;
  return units[1];
}
