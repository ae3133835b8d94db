#ifndef QK_UNPOOL_H
#define QK_UNPOOL_H
#include <stdint.h>

/* y [planes, to] is 0 but for y[i, places[i, j]] = x[i, j]; elements of `width` bytes. Places
 * outside the plane are left out. Arguments: x, places (i64), y. */
typedef struct {
  int32_t planes, from, to, width;
} qk_unpool_params;

#endif
