#ifndef QK_TRILU_H
#define QK_TRILU_H
#include <stdint.h>

/* y = x with zeros below (upper) or above the k-th diagonal of each matrix. y may be x. */
typedef struct {
  int32_t batch, rows, columns, k, upper;
} qk_trilu_params;

#endif
