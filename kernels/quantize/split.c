/* A unit is an element, of dynamic scales a run that has one. */
#include "kernels/common/split.h"

#include "kernels/quantize/operands.h"
#include "kernels/quantize/quantize.h"

QK_SPLIT_ELEMENTS(qk_lookup_8, qk_lookup_params, QK_LOOKUP_IN_X, 1, QK_LOOKUP_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_lookup_16, qk_lookup_params, QK_LOOKUP_IN_X, 1, QK_LOOKUP_OUT_Y, 2)
QK_SPLIT_OUTER(qk_lookup_rows_8, qk_lookup_rows_params, QK_LOOKUP_ROWS_IN_X, p->x_row,
               QK_LOOKUP_ROWS_OUT_Y, p->n)
QK_SPLIT_OUTER(qk_lookup_rows_16, qk_lookup_rows_params, QK_LOOKUP_ROWS_IN_X, p->x_row,
               QK_LOOKUP_ROWS_OUT_Y, 2 * p->n)
QK_SPLIT_ELEMENTS(qk_requantize_1, qk_requantize_params, QK_REQUANTIZE_IN_X, 2, QK_REQUANTIZE_OUT_Y,
                  1)
QK_SPLIT_ELEMENTS(qk_requantize_2, qk_requantize_params, QK_REQUANTIZE_IN_X, 2, QK_REQUANTIZE_OUT_Y,
                  2)

/* Whether all elements have one scale; if not they lie along the last axis, or where that has one
 * element, along `axis`, within a group. */
QK_INLINE int qk_one_scale(const qk_quantize_params* p) {
  return p->s_outer == 0 && p->s_axis == 0 && p->s_inner == 0;
}
QK_INLINE int32_t qk_quantize_position(const qk_quantize_params* p, int32_t first, const void** in,
                                       void** out, ptrdiff_t x, ptrdiff_t y) {
  const int32_t i = first % p->inner, row = first / p->inner;
  const int32_t a = row % p->axis, o = row / p->axis, group = p->group - a % p->group;
  const ptrdiff_t at =
      (ptrdiff_t)o * p->s_outer + (ptrdiff_t)(a / p->group) * p->s_axis + (ptrdiff_t)i * p->s_inner;
  qk_move(&in[QK_QUANTIZE_IN_X], first * x);
  qk_move(&in[QK_QUANTIZE_IN_SCALES], at * 4);
  qk_move(&in[QK_QUANTIZE_IN_ZEROS], at * 4);
  qk_move_result(&out[QK_QUANTIZE_OUT_Y], first * y);
  if (qk_one_scale(p)) return p->outer * p->axis * p->inner - first;
  if (p->inner > 1) return p->inner - i;
  return p->group > 1 && group < p->axis - a ? group : p->axis - a;
}
QK_INLINE int32_t qk_quantize_subrange(qk_quantize_params* p, int32_t first, int32_t count,
                                       int32_t left) {
  const int32_t own = count < left ? count : left;
  p->axis = p->inner > 1 || qk_one_scale(p) ? 1 : own;
  p->inner = p->axis == 1 ? own : 1;
  p->outer = 1;
  return first + own;
}
QK_INLINE void qk_quantize_spans(const qk_quantize_params* p, qk_quantize_params* one,
                                 int32_t* bytes, int32_t* steps) {
  one->outer = one->axis = one->inner = 1;
  bytes[QK_QUANTIZE_IN_SCALES] = bytes[QK_QUANTIZE_IN_ZEROS] = 4;
  steps[QK_QUANTIZE_IN_X] = 1;
  steps[QK_QUANTIZE_IN_SCALES] = steps[QK_QUANTIZE_IN_ZEROS] = p->inner > 1    ? p->s_inner
                                                               : p->group == 1 ? p->s_axis
                                                                               : 0;
}
#define QK_SPLIT_QUANTIZE(prefix, X, Y)                                                           \
  QK_INLINE int32_t prefix##_advance(const qk_quantize_params* p, int32_t first, const void** in, \
                                     void** out) {                                                \
    return qk_quantize_position(p, first, in, out, X, Y);                                         \
  }                                                                                               \
  QK_INLINE int32_t prefix##_spans(const qk_quantize_params* p, qk_quantize_params* one,          \
                                   int32_t* bytes, int32_t* steps) {                              \
    qk_quantize_spans(p, one, bytes, steps);                                                      \
    bytes[QK_QUANTIZE_IN_X] = (X);                                                                \
    return (Y);                                                                                   \
  }                                                                                               \
  QK_SPLIT_SCALED(prefix)
#define QK_SPLIT_SCALED(prefix)                                                           \
  QK_INLINE int32_t prefix##_units(const qk_quantize_params* p) {                         \
    return p->outer * p->axis * p->inner;                                                 \
  }                                                                                       \
  QK_INLINE int32_t prefix##_subrange(qk_quantize_params* p, const void** in, void** out, \
                                      int32_t* units) {                                   \
    const int32_t left = prefix##_advance(p, units[0], in, out);                          \
    return qk_quantize_subrange(p, units[0], units[1] - units[0], left);                  \
  }
QK_SPLIT_QUANTIZE(qk_quantize_1, 4, 1)
QK_SPLIT_QUANTIZE(qk_quantize_2, 4, 2)
QK_SPLIT_QUANTIZE(qk_dequantize_1, 1, 4)
QK_SPLIT_QUANTIZE(qk_dequantize_2, 2, 4)
QK_SPLIT_QUANTIZE(qk_dequantize_4, 4, 4)

#define QK_SPLIT_DYNAMIC(codes)                                                                \
  QK_INLINE int32_t qk_dynamic_##codes##_units(const qk_dynamic_params* p) { return p->rows; } \
  QK_INLINE int32_t qk_dynamic_##codes##_subrange(qk_dynamic_params* p, const void** in,       \
                                                  void** out, int32_t* units) {                \
    p->rows = units[1] - units[0];                                                             \
    p->first += units[0];                                                                      \
    (void)in;                                                                                  \
    qk_move_result(&out[QK_DYNAMIC_QUANTIZE_OUT_Y], (ptrdiff_t)units[0] * p->n * (codes));     \
    qk_move_result(&out[QK_DYNAMIC_QUANTIZE_OUT_SCALES], (ptrdiff_t)units[0] * 4);             \
    qk_move_optional(&out[QK_DYNAMIC_QUANTIZE_OUT_ZEROS], (ptrdiff_t)units[0] * 4);            \
    return units[1];                                                                           \
  }
QK_SPLIT_DYNAMIC(1)
QK_SPLIT_DYNAMIC(2)
