#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/copy/copy.h"

QK_INLINE void qk_copy(const qk_copy_params* p, const void* x, void* y) {
  memmove(y, x, (size_t)p->bytes);
}
