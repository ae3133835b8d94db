#include <stddef.h>

#include "kernels/common/inline.h"
#include "kernels/numerics/quant.h"
#include "kernels/quantize/quantize.h"

#define QK_DEFINE_QUANTIZE(t, T)                                                                  \
  QK_INLINE void qk_quantize_##t(const qk_quantize_params* p, const float* x, const float* s,     \
                                 const int32_t* z, T* y) {                                        \
    for (int32_t o = 0; o < p->outer; ++o) {                                                      \
      for (int32_t a = 0; a < p->axis; ++a) {                                                     \
        const ptrdiff_t base = (ptrdiff_t)o * p->s_outer + (ptrdiff_t)(a / p->group) * p->s_axis; \
        for (int32_t i = 0; i < p->inner; ++i) {                                                  \
          const ptrdiff_t at = base + (ptrdiff_t)i * p->s_inner;                                  \
          const int32_t zero = z ? z[at] : 0;                                                     \
          const float v = p->reciprocal ? qn_mulf(*x, s[at]) : *x / s[at];                        \
          *y++ = (T)qn_code(v, zero, p->lo, p->hi);                                               \
          ++x;                                                                                    \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }
QK_DEFINE_QUANTIZE(i8, int8_t)
QK_DEFINE_QUANTIZE(u8, uint8_t)
QK_DEFINE_QUANTIZE(i16, int16_t)
QK_DEFINE_QUANTIZE(u16, uint16_t)

#define QK_DEFINE_DEQUANTIZE(t, T)                                                                \
  QK_INLINE void qk_dequantize_##t(const qk_quantize_params* p, const T* x, const float* s,       \
                                   const int32_t* z, float* y) {                                  \
    for (int32_t o = 0; o < p->outer; ++o) {                                                      \
      for (int32_t a = 0; a < p->axis; ++a) {                                                     \
        const ptrdiff_t base = (ptrdiff_t)o * p->s_outer + (ptrdiff_t)(a / p->group) * p->s_axis; \
        for (int32_t i = 0; i < p->inner; ++i) {                                                  \
          const ptrdiff_t at = base + (ptrdiff_t)i * p->s_inner;                                  \
          *y++ = qn_dequantize((int32_t)*x++, s[at], z ? z[at] : 0);                              \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }
QK_DEFINE_DEQUANTIZE(i8, int8_t)
QK_DEFINE_DEQUANTIZE(u8, uint8_t)
QK_DEFINE_DEQUANTIZE(i16, int16_t)
QK_DEFINE_DEQUANTIZE(u16, uint16_t)
QK_DEFINE_DEQUANTIZE(i32, int32_t)

QK_INLINE void qk_lookup_8_8(const qk_lookup_params* p, const uint8_t* x, const uint8_t* table,
                             uint8_t* y) {
  for (int32_t i = 0; i < p->n; ++i) y[i] = table[x[i]];
}
QK_INLINE void qk_lookup_8_16(const qk_lookup_params* p, const uint8_t* x, const uint16_t* table,
                              uint16_t* y) {
  for (int32_t i = 0; i < p->n; ++i) y[i] = table[x[i]];
}

#define QK_DEFINE_REQUANTIZE(s, S, t, T)                                                     \
  QK_INLINE void qk_requantize_##s##_##t(const qk_requantize_params* p, const S* x, T* y) {  \
    for (int32_t i = 0; i < p->n; ++i) {                                                     \
      const float v = qn_dequantize((int32_t)x[i], p->sx, p->zx);                            \
      y[i] = (T)qn_code(p->reciprocal ? qn_mulf(v, p->sy) : v / p->sy, p->zy, p->lo, p->hi); \
    }                                                                                        \
  }
#define QK_DEFINE_REQUANTIZE_FROM(s, S)    \
  QK_DEFINE_REQUANTIZE(s, S, i8, int8_t)   \
  QK_DEFINE_REQUANTIZE(s, S, u8, uint8_t)  \
  QK_DEFINE_REQUANTIZE(s, S, i16, int16_t) \
  QK_DEFINE_REQUANTIZE(s, S, u16, uint16_t)
QK_DEFINE_REQUANTIZE_FROM(i16, int16_t)
QK_DEFINE_REQUANTIZE_FROM(u16, uint16_t)

#define QK_DEFINE_DYNAMIC(t, T)                                                             \
  QK_INLINE void qk_dynamic_##t(const qk_dynamic_params* p, const float* x, T* y, float* s, \
                                int32_t* z) {                                               \
    for (int32_t r = 0; r < p->rows; ++r) {                                                 \
      qn_dynamic_range(x, p->n, p->lo, p->hi, p->symmetric, &s[r], &z[r]);                  \
      for (int32_t i = 0; i < p->n; ++i) {                                                  \
        *y++ = (T)qn_quantize(x[i], s[r], z[r], p->lo, p->hi);                              \
      }                                                                                     \
      x += p->n;                                                                            \
    }                                                                                       \
  }
QK_DEFINE_DYNAMIC(i8, int8_t)
QK_DEFINE_DYNAMIC(u8, uint8_t)
QK_DEFINE_DYNAMIC(i16, int16_t)
QK_DEFINE_DYNAMIC(u16, uint16_t)
