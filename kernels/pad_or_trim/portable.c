#include <stddef.h>
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/pad_or_trim/pad_or_trim.h"

/* Rows that are taken over from x. */
QK_INLINE int32_t qk_pad_or_trim_rows(const qk_pad_or_trim_params* p) {
  int32_t n = p->valid < p->from ? p->valid : p->from;
  if (n > p->to) n = p->to;
  return n < 0 ? 0 : n;
}

#define QK_WITH 1
#include "kernels/pad_or_trim/body.inc"
#define QK_WITH 2
#include "kernels/pad_or_trim/body.inc"
#define QK_WITH 4
#include "kernels/pad_or_trim/body.inc"
#define QK_WITH 8
#include "kernels/pad_or_trim/body.inc"
