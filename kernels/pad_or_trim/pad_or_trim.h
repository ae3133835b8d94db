#ifndef QK_PAD_OR_TRIM_H
#define QK_PAD_OR_TRIM_H
#include <stdint.h>

/* For each of `outer` blocks: y is `to` rows of `inner` elements, the first `valid` of them those
 * of x, which has `from` rows, the others filled with copies of *value (of zero bytes where value
 * is null), or with `repeat` copies of the last of those rows where there is one. Never more than
 * `from` rows are read nor more than `to` written, whatever `valid` is. y may be x where `from` is
 * `to`. */
typedef struct {
  int32_t outer, from, to, valid, inner, repeat;
} qk_pad_or_trim_params;

#endif
