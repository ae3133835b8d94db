#ifndef QK_ONE_HOT_H
#define QK_ONE_HOT_H
#include <stdint.h>

/* y[o, d, i] = values[1] where index[o, i] is d, counted from the end when negative, else
 * values[0]. Elements of values and y have `block` bytes. */
typedef struct {
  int32_t outer, depth, inner, block;
} qk_one_hot_params;

#endif
