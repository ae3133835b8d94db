#ifndef QK_BAD_INDEX_H
#define QK_BAD_INDEX_H
#include <stdint.h>

/* y is {number, i} where i is the first of `count` indices x that is out of range: index k counts
 * along an axis of sizes[k % depth] elements, from its end where it is negative. Where all are in
 * range it is {0, 0}. What an earlier check found stays: y is `before` where before[0] is not 0. */
typedef struct {
  int32_t count, depth, number;
  int32_t sizes[8];
} qk_bad_index_params;

#endif
