#include <stddef.h>
#include <string.h>

#include "kernels/common/inline.h"
#include "kernels/one_hot/one_hot.h"

QK_INLINE void qk_one_hot(const qk_one_hot_params* p, const int64_t* index, const void* values,
                          void* y) {
  const size_t block = (size_t)p->block;
  const unsigned char* off = (const unsigned char*)values;
  unsigned char* to = (unsigned char*)y;
  for (int32_t o = 0; o < p->outer; ++o) {
    for (int32_t d = 0; d < p->depth; ++d) {
      for (int32_t i = 0; i < p->inner; ++i) {
        const int64_t at = index[i] < 0 ? index[i] + p->depth : index[i];
        memcpy(to, at == d ? off + block : off, block);
        to += block;
      }
    }
    index += p->inner;
  }
}
