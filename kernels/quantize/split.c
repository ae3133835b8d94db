/* A unit is an element, of dynamic scales a run that has one. */
#include "kernels/common/split.h"

#include "kernels/quantize/quantize.h"

QK_SPLIT_ELEMENTS(qk_lookup_8, qk_lookup_params, 1, 1)
QK_SPLIT_ELEMENTS(qk_lookup_16, qk_lookup_params, 1, 2)
QK_SPLIT_OUTER(qk_lookup_rows_8, qk_lookup_rows_params, p->x_row, p->n)
QK_SPLIT_OUTER(qk_lookup_rows_16, qk_lookup_rows_params, p->x_row, 2 * p->n)
QK_SPLIT_ELEMENTS(qk_requantize_1, qk_requantize_params, 2, 1)
QK_SPLIT_ELEMENTS(qk_requantize_2, qk_requantize_params, 2, 2)

#define QK_SPLIT_DYNAMIC(codes)                                                                  \
  QK_INLINE int32_t qk_dynamic_##codes##_units(const qk_dynamic_params* p) { return p->rows; }   \
  QK_INLINE int32_t qk_dynamic_##codes##_part(qk_dynamic_params* p, const void** in, void** out, \
                                              int32_t* units) {                                  \
    p->rows = units[1] - units[0];                                                               \
    qk_move(&in[0], (ptrdiff_t)units[0] * p->n * 4);                                             \
    qk_move_result(&out[0], (ptrdiff_t)units[0] * p->n * (codes));                               \
    qk_move_result(&out[1], (ptrdiff_t)units[0] * 4);                                            \
    qk_move_optional(&out[2], (ptrdiff_t)units[0] * 4);                                          \
    return units[1];                                                                             \
  }
QK_SPLIT_DYNAMIC(1)
QK_SPLIT_DYNAMIC(2)
