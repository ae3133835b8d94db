/* Kernels that compute some of what a call asks for: items [first, first + count) of `all`, or with
 * a count of 0 all of them. */
#ifndef QK_RANGE_H
#define QK_RANGE_H

#include <stdint.h>

#include "kernels/common/inline.h"

QK_INLINE int32_t qk_range_end(int32_t first, int32_t count, int32_t all) {
  return count > 0 ? first + count : all;
}

/* A split into such items: parameters have the members `first` and `count`. */
#define QK_SPLIT_RANGE(prefix, PARAMS, ITEMS)                                                   \
  QK_INLINE int32_t prefix##_units(const PARAMS* p) { return (ITEMS); }                         \
  QK_INLINE int32_t prefix##_subrange(PARAMS* p, const void** in, void** out, int32_t* units) { \
    (void)in;                                                                                   \
    (void)out;                                                                                  \
    p->first = units[0];                                                                        \
    p->count = units[1] - units[0];                                                             \
    return units[1];                                                                            \
  }

#endif
