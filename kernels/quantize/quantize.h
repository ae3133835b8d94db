#ifndef QK_QUANTIZE_H
#define QK_QUANTIZE_H
#include <stdint.h>

/* Elements lie as [outer][axis][inner]; element (o, a, i) has the scale and zero point at
 * o * s_outer + a / group * s_axis + i * s_inner, all 0 for one of each.
 *
 * qk_quantize_T     y = codes of x: x / scale (x * scale with `reciprocal`, the scales being
 *                   reciprocals then), rounded half to even, + zero point, limited to lo..hi.
 *                   Arguments: x, scales, zero points (may be null: 0), y.
 * qk_dequantize_T   y = (x - zero point) * scale. Arguments: x, scales, zero points, y.
 */
typedef struct {
  int32_t outer, axis, inner;
  int32_t group, s_outer, s_axis, s_inner;
  int32_t lo, hi;
  int32_t reciprocal;
} qk_quantize_params;

/* qk_quantize_transposed_T, qk_dequantize_transposed_T: the same with one scale and zero point, x
 * lying as [batch][rows][columns], y as [batch][columns][rows]: channels go to the end or come from
 * there.
 */
typedef struct {
  int32_t batch, rows, columns;
  int32_t lo, hi;
  int32_t reciprocal;
} qk_quantize_transposed_params;

/* qk_lookup_8_T     y[i] = table[x[i]], x a byte of either sign seen as 0..255. In place for equal
 *                   sizes. Arguments: x, table, y. */
typedef struct {
  int32_t n;
} qk_lookup_params;

/* qk_lookup_rows_T  the same of `outer` rows of n bytes that begin x_row bytes from each other. */
typedef struct {
  int32_t outer, n, x_row;
} qk_lookup_rows_params;

/* qk_requantize_S_T y = the code of (x - zx) * sx under sy (reciprocal as above), zy. */
typedef struct {
  int32_t n;
  float sx, sy;
  int32_t zx, zy, lo, hi;
  int32_t reciprocal;
} qk_requantize_params;

/* qk_dynamic_T      the scale and zero point of each of `rows` rows of n elements, then their
 * codes. Asymmetric: the range [min(x, 0), max(x, 0)] over hi - lo steps, as ONNX's
 *                   DynamicQuantizeLinear; symmetric: the largest magnitude over hi, zero point 0.
 *                   An empty range has scale 1. Elements of x follow each other or, where `run` is
 *                   not 0, `run` of them do: such runs begin x_run elements from each other. A row
 *                   has whole runs, or a run whole rows. The first row is `first` of x. Arguments:
 *                   x, codes, scales, zero points. */
typedef struct {
  int32_t rows, n;
  int32_t lo, hi, symmetric;
  int32_t run, x_run, first;
} qk_dynamic_params;

/* Codes of n floats of one scale, whose range is known in `parts` parts, pairs of the least and the
 * most; codes have `size` bytes. Arguments: x, ranges, y, scales, zeros. qk_ranges_block finds the
 * parts, of elements that are as many runs of QK_THREAD_BLOCK apart: x, ranges. */
typedef struct {
  int32_t n, range_count, lo, hi, symmetric, size;
} qk_ranges_params;

/* Elements that a block of threads makes codes of. */
#define QK_RANGES_UNIT 4096

#endif
