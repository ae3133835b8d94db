#ifndef QK_ATTENTION_H
#define QK_ATTENTION_H
#include <stdint.h>

/* y = softmax(scores) v for q [batch, heads, queries, depth], k [batch, kv_heads, keys, depth] and
 * v [batch, kv_heads, keys, value_depth]; heads is a multiple of kv_heads, and as many neighbouring
 * heads share one of k and v.
 *
 * A score is the chain of fmas over depth ascending from 0, times scale; with softcap > 0 then
 * tanh(s / softcap) times softcap. A key whose `keep` is 0 gets -inf; `add` is added. Keys outside
 * [i + offset - left, i + offset + right] of query i get -inf; a bound of -1 does not limit.
 * Weights are exp(s - m) / sum with the maximum m and the sum as row reductions; where m is -inf
 * all weights are 0, or NaN with nan_rows. The result is the chain of fmas over keys ascending from
 * 0, keys of weight 0 included.
 *
 * Operands and the result may lie with any strides: q_at and so on are the elements from batch to
 * batch, from head to head and from row to row, in which elements follow each other.
 *
 * Arguments: q, k, v, keep (bytes) and add (floats; either may be null; element (b, h, i, j) at the
 * sum of its indices times the strides), y, scratch of QK_ATTENTION_SCRATCH floats.
 */
typedef struct {
  int32_t batch, heads, kv_heads, queries, keys, depth, value_depth;
  int32_t q_at[3], k_at[3], v_at[3], y_at[3];
  int32_t mask[4];
  int32_t left, right, offset;
  int32_t rows; /* queries that are worked on together */
  int32_t wide; /* keys come to QK_ATTENTION_WIDE at a time: one tile serves any number of them */
  float scale, softcap;
  int32_t nan_rows;
} qk_attention_params;

#define QK_ATTENTION_WIDE 64

/* Panels of k, panels of v, and the scores of some queries; `padded` is the number of keys in whole
 * panels of 16, or where they are wide of QK_ATTENTION_WIDE, and `line` that of scores in a row:
 * keys, or where they are wide padded. */
#define QK_ATTENTION_SCRATCH(keys, padded, line, depth, value_depth, rows) \
  ((padded) * (depth) + ((value_depth) + 15) / 16 * 16 * (keys) + (rows) * (line))

#endif
