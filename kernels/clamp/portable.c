#include "kernels/clamp/clamp.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/half.h"

/* Values of type T stored as S; LIMIT turns a float limit into a T. */
#define QK_DEFINE_CLAMP(suffix, S, T, LOAD, STORE, LIMIT)                        \
  QK_INLINE void qk_clamp_##suffix(const qk_clamp_params* p, const S* x, S* y) { \
    const T lo = LIMIT(p->lo), hi = LIMIT(p->hi);                                \
    for (int32_t i = 0; i < p->n; ++i) {                                         \
      const T v = LOAD(x[i]);                                                    \
      const T w = v < lo ? lo : v;                                               \
      y[i] = STORE(w > hi ? hi : w);                                             \
    }                                                                            \
  }

#define QK_SAME(v) (v)
#define QK_DEFINE_CLAMP_INT(suffix, T, MIN, MAX)                         \
  QK_INLINE T qk_clamp_limit_##suffix(float v) {                         \
    return v <= (float)(MIN) ? (MIN) : v >= (float)(MAX) ? (MAX) : (T)v; \
  }                                                                      \
  QK_DEFINE_CLAMP(suffix, T, T, QK_SAME, QK_SAME, qk_clamp_limit_##suffix)

#define QK_DEFINE_CLAMP_TO(suffix, T)                                                           \
  QK_INLINE void qk_clamp_to_##suffix(const qk_clamp_to_params* p, const T* x, const T* limits, \
                                      T* y) {                                                   \
    const T lo = limits[0], hi = limits[1];                                                     \
    for (int32_t i = 0; i < p->n; ++i) {                                                        \
      const T w = x[i] < lo ? lo : x[i];                                                        \
      y[i] = w > hi ? hi : w;                                                                   \
    }                                                                                           \
  }

QK_DEFINE_CLAMP(f32, float, float, QK_SAME, QK_SAME, QK_SAME)
QK_DEFINE_CLAMP(f64, double, double, QK_SAME, QK_SAME, (double))
QK_DEFINE_CLAMP(f16, uint16_t, float, qn_f16_to_f32, qn_f16_from_f32, QK_SAME)
QK_DEFINE_CLAMP(bf16, uint16_t, float, qn_bf16_to_f32, qn_bf16_from_f32, QK_SAME)
QK_DEFINE_CLAMP_INT(i8, int8_t, INT8_MIN, INT8_MAX)
QK_DEFINE_CLAMP_INT(i16, int16_t, INT16_MIN, INT16_MAX)
QK_DEFINE_CLAMP_INT(i32, int32_t, INT32_MIN, INT32_MAX)
QK_DEFINE_CLAMP_INT(i64, int64_t, INT64_MIN, INT64_MAX)
QK_DEFINE_CLAMP_INT(u8, uint8_t, 0, UINT8_MAX)
QK_DEFINE_CLAMP_INT(u16, uint16_t, 0, UINT16_MAX)
QK_DEFINE_CLAMP_INT(u32, uint32_t, 0, UINT32_MAX)
QK_DEFINE_CLAMP_INT(u64, uint64_t, 0, UINT64_MAX)
QK_DEFINE_CLAMP_TO(f64, double)
QK_DEFINE_CLAMP_TO(i32, int32_t)
QK_DEFINE_CLAMP_TO(i64, int64_t)
QK_DEFINE_CLAMP_TO(u32, uint32_t)
QK_DEFINE_CLAMP_TO(u64, uint64_t)
