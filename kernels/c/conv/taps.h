/* Which taps of a window fall inside the input, along one axis. */
#ifndef QK_CONV_TAPS_H
#define QK_CONV_TAPS_H

#include <stdint.h>

#include "kernels/c/inline.h"

/* Taps [*first, *last) of k that fall inside `in` inputs when tap 0 is at `at`. */
QK_INLINE void qk_taps(int32_t at, int32_t dilation, int32_t k, int32_t in, int32_t* first,
                       int32_t* last) {
  const int32_t room = in - at;
  const int32_t end = room <= 0 ? 0 : (room + dilation - 1) / dilation;
  *first = at >= 0 ? 0 : (-at + dilation - 1) / dilation;
  *last = end < k ? end : k;
  if (*last < *first) *last = *first;
}

/* Output positions [*low, *high) for which every tap is inside. */
QK_INLINE void qk_taps_inside(int32_t in, int32_t out, int32_t k, int32_t stride, int32_t dilation,
                              int32_t pad, int32_t* low, int32_t* high) {
  const int32_t room = in + pad - (k - 1) * dilation;
  const int32_t first = pad > 0 ? (pad + stride - 1) / stride : 0;
  const int32_t last = room <= 0 ? 0 : (room + stride - 1) / stride;
  *high = last < out ? last : out;
  *low = first < *high ? first : *high;
}

#endif
