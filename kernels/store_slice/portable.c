#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/store_slice/store_slice.h"

QK_INLINE void qk_store_slice(const qk_store_slice_params* p, const void* x, const int64_t* index,
                              void* y) {
  memcpy((char*)y + (size_t)index[0] * (size_t)p->bytes, x, (size_t)p->bytes);
}
