#ifndef QK_QATTENTION_SEEN_H
#define QK_QATTENTION_SEEN_H

#include "kernels/common/inline.h"
#include "kernels/qattention/qattention.h"

/* The keys that query i sees of [0, keys). */
typedef struct qk_seen {
  int32_t first, end;
} qk_seen;
QK_INLINE qk_seen qk_keys_seen(const qk_qattention_params* p, int32_t i) {
  const int64_t at = (int64_t)i + p->offset, n = p->keys;
  const int64_t first = p->left < 0 || at - p->left < 0 ? 0 : at - p->left;
  const int64_t end = p->right < 0 || at + p->right + 1 > n ? n : at + p->right + 1;
  const qk_seen s = {(int32_t)(first < n ? first : n), (int32_t)(end < 0 ? 0 : end)};
  return s;
}

#endif
