/* One unit is one element. */
#include "kernels/common/cuda.h"
#include "kernels/numerics/quant.h"
#include "kernels/quantize/quantize.h"

/* Where element `unit` of y comes from. */
QK_UNIT int64_t qk_turned_from(const qk_quantize_turned_params* p, int64_t unit) {
  const int64_t column = unit / p->rows, image = column / p->columns;
  return (image * p->rows + unit - column * p->rows) * p->columns + column - image * p->columns;
}
/* How many neighbours a unit has: where rows are few, as the channels of an image, all of a column,
 * so that threads beside each other read what lies side by side. */
QK_UNIT int32_t qk_turned_each(const qk_quantize_turned_params* p) {
  return p->rows <= 8 ? p->rows : 1;
}
QK_UNIT int64_t qk_turned_units(const qk_quantize_turned_params* p) {
  return (int64_t)p->batch * p->rows * p->columns / qk_turned_each(p);
}

#define QK_DEFINE_QUANTIZE_TURNED_UNIT(t, T)                                                     \
  QK_UNIT int64_t qk_quantize_turned_cuda_##t##_units(const qk_quantize_turned_params* p) {      \
    return qk_turned_units(p);                                                                   \
  }                                                                                              \
  QK_UNIT void qk_quantize_turned_cuda_##t(const qk_quantize_turned_params* p, int64_t unit,     \
                                           const void* x, const void* scales, const void* zeros, \
                                           void* y) {                                            \
    const float s = ((const float*)scales)[0];                                                   \
    const int32_t zero = zeros ? ((const int32_t*)zeros)[0] : 0, each = qk_turned_each(p);       \
    for (int64_t i = unit * each; i < (unit + 1) * each; ++i) {                                  \
      const float v = ((const float*)x)[qk_turned_from(p, i)];                                   \
      ((T*)y)[i] = (T)qn_code(p->reciprocal ? qn_mulf(v, s) : v / s, zero, p->lo, p->hi);        \
    }                                                                                            \
  }
#define QK_DEFINE_DEQUANTIZE_TURNED_UNIT(t, T)                                                     \
  QK_UNIT int64_t qk_dequantize_turned_cuda_##t##_units(const qk_quantize_turned_params* p) {      \
    return qk_turned_units(p);                                                                     \
  }                                                                                                \
  QK_UNIT void qk_dequantize_turned_cuda_##t(const qk_quantize_turned_params* p, int64_t unit,     \
                                             const void* x, const void* scales, const void* zeros, \
                                             void* y) {                                            \
    const int32_t zero = zeros ? ((const int32_t*)zeros)[0] : 0, each = qk_turned_each(p);         \
    for (int64_t i = unit * each; i < (unit + 1) * each; ++i) {                                    \
      const int32_t code = (int32_t)((const T*)x)[qk_turned_from(p, i)];                           \
      ((float*)y)[i] = qn_dequantize(code, ((const float*)scales)[0], zero);                       \
    }                                                                                              \
  }
QK_DEFINE_QUANTIZE_TURNED_UNIT(i8, int8_t)
QK_DEFINE_QUANTIZE_TURNED_UNIT(u8, uint8_t)
QK_DEFINE_QUANTIZE_TURNED_UNIT(i16, int16_t)
QK_DEFINE_QUANTIZE_TURNED_UNIT(u16, uint16_t)
QK_DEFINE_DEQUANTIZE_TURNED_UNIT(i8, int8_t)
QK_DEFINE_DEQUANTIZE_TURNED_UNIT(u8, uint8_t)
QK_DEFINE_DEQUANTIZE_TURNED_UNIT(i16, int16_t)
QK_DEFINE_DEQUANTIZE_TURNED_UNIT(u16, uint16_t)
