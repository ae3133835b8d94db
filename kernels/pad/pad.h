#ifndef QK_PAD_H
#define QK_PAD_H
#include <stdint.h>

/* y is x, of the given dims, inside a border of `before` and `after` copies of *value along each
 * axis. Unused leading dims are 1. */
typedef struct {
  int32_t dims[8], before[8], after[8];
} qk_pad_params;

#endif
