#ifndef QK_ARG_H
#define QK_ARG_H
#include <stdint.h>

/* x is [outer, n, inner]. A NaN counts as larger than every number. */

/* y[o, i] = position of the largest (smallest) element along n; of equal ones the first, or the
 * last when `last` is set. For arg_min a NaN counts as the smallest. */
typedef struct {
  int32_t outer, n, inner, last;
} qk_arg_params;

/* The first k of each sorted row and their positions; of equal elements the first stays first.
 * scratch holds 2 n int32. */
typedef struct {
  int32_t outer, n, inner, k, descending;
} qk_sort_params;

/* y[b] = number of elements in bin b of `bins` equal parts of [low, high]; others are not counted.
 */
typedef struct {
  int32_t n, bins;
  float low, high;
} qk_histogram_params;

#endif
