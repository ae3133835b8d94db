/* A unit is a block. */
#include "kernels/common/split.h"

#include "kernels/pad_or_trim/operands.h"
#include "kernels/pad_or_trim/pad_or_trim.h"

#define QK_SPLIT_PAD_OR_TRIM(bytes)                                                  \
  QK_SPLIT_OUTER(qk_pad_or_trim_##bytes, qk_pad_or_trim_params, QK_PAD_OR_TRIM_IN_X, \
                 (ptrdiff_t)p->from * p->inner * (bytes), QK_PAD_OR_TRIM_OUT_Y,      \
                 (ptrdiff_t)p->to * p->inner * (bytes))
QK_SPLIT_PAD_OR_TRIM(1)
QK_SPLIT_PAD_OR_TRIM(2)
QK_SPLIT_PAD_OR_TRIM(4)
QK_SPLIT_PAD_OR_TRIM(8)
