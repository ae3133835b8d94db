#include "kernels/cast/cast.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/cast.h"

#define QK_DEFINE_CAST(from, S, kind, to, D)                                             \
  QK_INLINE void qk_cast_##from##_##to(const qk_cast_params* p, const S* x, D* y) {      \
    for (int32_t i = 0; i < p->n; ++i) y[i] = qn_put_##to##_##kind(qn_get_##from(x[i])); \
  }
#define QK_CASTS_TO_PLAIN(from, S, kind)        \
  QK_DEFINE_CAST(from, S, kind, f32, float)     \
  QK_DEFINE_CAST(from, S, kind, f64, double)    \
  QK_DEFINE_CAST(from, S, kind, f16, uint16_t)  \
  QK_DEFINE_CAST(from, S, kind, bf16, uint16_t) \
  QK_DEFINE_CAST(from, S, kind, i8, int8_t)     \
  QK_DEFINE_CAST(from, S, kind, i16, int16_t)   \
  QK_DEFINE_CAST(from, S, kind, i32, int32_t)   \
  QK_DEFINE_CAST(from, S, kind, i64, int64_t)   \
  QK_DEFINE_CAST(from, S, kind, u8, uint8_t)    \
  QK_DEFINE_CAST(from, S, kind, u16, uint16_t)  \
  QK_DEFINE_CAST(from, S, kind, u32, uint32_t)  \
  QK_DEFINE_CAST(from, S, kind, u64, uint64_t)  \
  QK_DEFINE_CAST(from, S, kind, bool, uint8_t)
#define QK_CASTS_TO_SMALL(from, S, kind)             \
  QK_DEFINE_CAST(from, S, kind, f8e4m3, uint8_t)     \
  QK_DEFINE_CAST(from, S, kind, f8e5m2, uint8_t)     \
  QK_DEFINE_CAST(from, S, kind, f8e4m3fnuz, uint8_t) \
  QK_DEFINE_CAST(from, S, kind, f8e5m2fnuz, uint8_t) \
  QK_DEFINE_CAST(from, S, kind, f8e8m0, uint8_t)     \
  QK_DEFINE_CAST(from, S, kind, f4e2m1, uint8_t)     \
  QK_DEFINE_CAST(from, S, kind, i4, int8_t)          \
  QK_DEFINE_CAST(from, S, kind, u4, uint8_t)         \
  QK_DEFINE_CAST(from, S, kind, i2, int8_t)          \
  QK_DEFINE_CAST(from, S, kind, u2, uint8_t)

#define QN_STORAGE(enumerator, suffix, ctype, kind) \
  QK_CASTS_TO_PLAIN(suffix, ctype, kind) QK_CASTS_TO_SMALL(suffix, ctype, kind)
#include "kernels/numerics/storage_types.inc"

#define QK_DEFINE_CAST_MODE(from, S, to)                                              \
  QK_INLINE void qk_cast_mode_##from##_##to(const qk_cast_mode_params* p, const S* x, \
                                            uint8_t* y) {                             \
    for (int32_t i = 0; i < p->n; ++i)                                                \
      y[i] = qn_##to##_from_f64((double)qn_get_##from(x[i]), p->saturate);            \
  }
#define QK_DEFINE_CAST_SCALE(from, S)                                                   \
  QK_INLINE void qk_cast_mode_##from##_f8e8m0(const qk_cast_mode_params* p, const S* x, \
                                              uint8_t* y) {                             \
    for (int32_t i = 0; i < p->n; ++i)                                                  \
      y[i] = qn_f8e8m0_from_f64((double)qn_get_##from(x[i]), p->saturate, p->round);    \
  }
#define QK_CAST_MODES(from, S)             \
  QK_DEFINE_CAST_MODE(from, S, f8e4m3)     \
  QK_DEFINE_CAST_MODE(from, S, f8e5m2)     \
  QK_DEFINE_CAST_MODE(from, S, f8e4m3fnuz) \
  QK_DEFINE_CAST_MODE(from, S, f8e5m2fnuz) \
  QK_DEFINE_CAST_SCALE(from, S)
QK_CAST_MODES(f32, float)
QK_CAST_MODES(f64, double)
QK_CAST_MODES(f16, uint16_t)
QK_CAST_MODES(bf16, uint16_t)

#undef QK_DEFINE_CAST
#undef QK_CASTS_TO_PLAIN
#undef QK_CASTS_TO_SMALL
#undef QK_DEFINE_CAST_MODE
#undef QK_DEFINE_CAST_SCALE
#undef QK_CAST_MODES
