#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/common/range.h"
#include "kernels/store_slice/store_slice.h"

QK_INLINE void qk_store_slice(const qk_store_slice_params* p, const void* x, const int64_t* index,
                              void* y) {
  const size_t first = (size_t)p->first;
  const size_t count = (size_t)(qk_range_end(p->first, p->count, p->bytes) - p->first);
  memcpy((char*)y + (size_t)index[0] * (size_t)p->bytes + first, (const char*)x + first, count);
}
