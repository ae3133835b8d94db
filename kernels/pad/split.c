/* A unit is a row of the result. */
#include "kernels/common/split.h"

#include "kernels/pad/operands.h"
#include "kernels/pad/pad.h"

QK_INLINE int32_t qk_pad_units(const qk_pad_params* p) {
  int32_t units = 1;
  for (int32_t i = 0; i < 7; ++i) units *= p->before[i] + p->dims[i] + p->after[i];
  return units;
}
/* The first of the rows: one of the operand with its border, or nothing but border. */
QK_INLINE int32_t qk_pad_subrange(qk_pad_params* p, const void** in, void** out,
                                  const int32_t* units, ptrdiff_t bytes) {
  const int32_t row = p->before[7] + p->dims[7] + p->after[7];
  int32_t rest = units[0], inside = 1;
  ptrdiff_t from = 0, step = p->dims[7];
  for (int32_t i = 7; i-- > 0;) {
    const int32_t all = p->before[i] + p->dims[i] + p->after[i], at = rest % all - p->before[i];
    inside = inside && at >= 0 && at < p->dims[i];
    from += at * step;
    step *= p->dims[i];
    rest /= all;
    p->dims[i] = 1;
    p->before[i] = p->after[i] = 0;
  }
  if (inside) {
    qk_move(&in[QK_PAD_IN_X], from * bytes);
  } else {
    p->before[7] = row;
    p->dims[7] = p->after[7] = 0;
  }
  qk_move_result(&out[QK_PAD_OUT_Y], (ptrdiff_t)units[0] * row * bytes);
  return units[0] + 1;
}

#define QK_SPLIT_PAD(bytes)                                                                    \
  QK_INLINE int32_t qk_pad_##bytes##_units(const qk_pad_params* p) { return qk_pad_units(p); } \
  QK_INLINE int32_t qk_pad_##bytes##_subrange(qk_pad_params* p, const void** in, void** out,   \
                                              const int32_t* units) {                          \
    return qk_pad_subrange(p, in, out, units, bytes);                                          \
  }
QK_SPLIT_PAD(1)
QK_SPLIT_PAD(2)
QK_SPLIT_PAD(4)
QK_SPLIT_PAD(8)
