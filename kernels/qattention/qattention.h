#ifndef QK_QATTENTION_H
#define QK_QATTENTION_H
#include <stdint.h>

#include "kernels/epilogue/epilogue.h"

/* Attention on codes of 8 bits: q [batch, heads, queries, depth], k [batch, kv_heads, keys, depth]
 * and v [batch, kv_heads, keys, value_depth]; as many neighbouring heads as heads / kv_heads share
 * one of k and v.
 *
 * A score is f32(sum) * ((sq * scale) * sk), the sum of (q - zq)(k - zk) being exact; softcap,
 * masks and the window are those of kernels/attention/attention.h. With the maximum m and the sum
 * of e = exp(s - m) as row reductions, a key weighs w = e, or e * sv where v has a scale per row.
 * Weights become codes c = rne(w * (255 / largest)) from 0 to 255, `largest` being 1, or the row's
 * largest w where v has a scale per row. With r = (largest / 255) / sum, times sv where v has one
 * scale, a result is f32(sum of c (v - zv)) * r; codes are those of f32(..) * (r / y_scale). Where
 * m is -inf all c are 0 and r is 1, or NaN with nan_rows. No sum of integers depends on its order,
 * so neither blocks of queries and keys nor leaving out what the window hides change a bit.
 *
 * Operands and the result may lie with any strides: q_at and so on are the elements from batch to
 * batch, from head to head and from row to row, in which elements follow each other; q_scales_at
 * and so on the same of scales, q_zeros_at and so on of zero points, 0 where there is one for all.
 *
 * With quantize.mode other than QK_NO_EPILOGUE the floats become codes
 * (kernels/common/quantize_epilogue.h): rows of quantize_row of them, a batch having quantize.batch
 * rows, are computed into `floats`, in which y_at says where.
 *
 * Arguments: q, k, v, keep (bytes) and add (floats; either may be null; element (b, h, i, j) at the
 * sum of its indices times the strides `mask`), scales and zero points of q, k and v (null: those
 * of the parameters; with q_rows and so on one per row of codes, else one), scales and zeros of an
 * epilogue, y (floats or codes, see kernels/common/codes.h), y_scales, y_zeros and floats of an
 * epilogue, scratch of QK_QATTENTION_FLOATS floats and QK_QATTENTION_WORDS words.
 */
typedef struct {
  int32_t batch, heads, kv_heads, queries, keys, depth, value_depth;
  int32_t q_at[3], k_at[3], v_at[3], y_at[3];
  int32_t q_scales_at[3], k_scales_at[3], v_scales_at[3];
  int32_t q_zeros_at[3], k_zeros_at[3], v_zeros_at[3];
  int32_t mask[4];
  int32_t left, right, offset;
  int32_t rows; /* queries that are worked on together */
  float scale, softcap;
  int32_t nan_rows;
  int32_t q_type, k_type, v_type;
  int32_t q_zero, k_zero, v_zero;
  float q_scale, k_scale, v_scale;
  int32_t q_rows, k_rows, v_rows;
  int32_t y_type, y_zero, lo, hi;
  float y_scale;
  qk_quantize_out quantize;
  int32_t quantize_row;
} qk_qattention_params;

#define QK_QATTENTION_UP(n, to) (((n) + (to)-1) / (to) * (to))
/* Scores and results of some queries, scales of keys and of values, a factor for each query. */
#define QK_QATTENTION_FLOATS(keys, value_depth, rows)                          \
  ((rows) * (QK_QATTENTION_UP(keys, 16) + QK_QATTENTION_UP(value_depth, 16)) + \
   2 * QK_QATTENTION_UP(keys, 16) + QK_QATTENTION_UP(rows, 16))
/* Panels of k and of v, some queries and their weights: pairs of words, or bytes. */
#define QK_QATTENTION_WORDS(keys, depth, value_depth, rows)        \
  (QK_QATTENTION_UP(keys, 16) * QK_QATTENTION_UP(depth, 2) +       \
   QK_QATTENTION_UP(value_depth, 16) * QK_QATTENTION_UP(keys, 2) + \
   (rows) * (QK_QATTENTION_UP(depth, 2) + QK_QATTENTION_UP(keys, 16)))

/* Depths that bodies for bytes take (kernels/qattention/bytes.h): fewer codes a row would not leave
 * room for what belongs to keys in QK_QATTENTION_WORDS, more would not fit one product of pairs. */
#define QK_BYTES_LEAST_DEPTH 8
#define QK_BYTES_MOST_DEPTH 128

#endif
