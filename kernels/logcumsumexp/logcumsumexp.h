#ifndef QK_LOGCUMSUMEXP_H
#define QK_LOGCUMSUMEXP_H
#include <stdint.h>

/* x and y are [outer, n, inner]. y[k] = the logarithm of the sum of exp(x[0..k]) along n. f16 and
 * bf16 are computed in f32. y may be x. */
typedef struct {
  int32_t outer, n, inner;
} qk_logcumsumexp_params;

#endif
