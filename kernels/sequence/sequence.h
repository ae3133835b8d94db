#ifndef QK_SEQUENCE_H
#define QK_SEQUENCE_H
#include <stdint.h>

/* Integers that follow from sizes alone, for sizes that a run chooses.
 *
 * qk_sequence  y[i] = start + i * step for i in [0, n), modulo 2^64.
 * qk_sizes     y[i] = values[i] for i in [0, n).
 */
typedef struct {
  int32_t n;
  int64_t start, step;
} qk_sequence_params;

typedef struct {
  int32_t n;
  int64_t values[8];
} qk_sizes_params;

#endif
