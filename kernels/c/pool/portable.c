#include <string.h>

#include "kernels/c/inline.h"
#include "kernels/c/pool/pool.h"
#include "kernels/c/pool/walk.h"
#include "kernels/c/vec16.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/scalar_ops.h"

/* ---- channels-last, sixteen channels at once ---- */

#define QK_DEFINE_POOL_LAST(name, S, V, START, FIRST, STEP, FINISH)                     \
  QK_INLINE void qk_##name(const qk_pool_params* p, const S* x, S* y) {                 \
    const ptrdiff_t c = p->c;                                                           \
    for (int32_t n = 0; n < p->n; ++n) {                                                \
      for (int32_t od = 0; od < p->out[0]; ++od) {                                      \
        const qk_pool_window wd = qk_pool_taps(p, 0, od);                               \
        for (int32_t oh = 0; oh < p->out[1]; ++oh) {                                    \
          const qk_pool_window wh = qk_pool_taps(p, 1, oh);                             \
          for (int32_t ow = 0; ow < p->out[2]; ++ow) {                                  \
            const qk_pool_window ww = qk_pool_taps(p, 2, ow);                           \
            for (int32_t block = 0; block < p->c; block += 16) {                        \
              const int32_t lanes = p->c - block < 16 ? p->c - block : 16;              \
              V acc = V##_set(START);                                                   \
              int some = 0;                                                             \
              (void)some;                                                               \
              for (int32_t kd = wd.first; kd < wd.last; ++kd) {                         \
                for (int32_t kh = wh.first; kh < wh.last; ++kh) {                       \
                  for (int32_t kw = ww.first; kw < ww.last; ++kw) {                     \
                    const ptrdiff_t d = n * (ptrdiff_t)p->in[0] + wd.at + kd * wd.step; \
                    const ptrdiff_t h = d * p->in[1] + wh.at + kh * wh.step;            \
                    const ptrdiff_t v = h * p->in[2] + ww.at + kw * ww.step;            \
                    const V e = V##_load_n(x + v * c + block, lanes);                   \
                    acc = FIRST STEP(acc, e);                                           \
                    some = 1;                                                           \
                  }                                                                     \
                }                                                                       \
              }                                                                         \
              FINISH;                                                                   \
              V##_store_n(y + block, acc, lanes);                                       \
            }                                                                           \
            y += c;                                                                     \
          }                                                                             \
        }                                                                               \
      }                                                                                 \
    }                                                                                   \
  }
#define QK_POOL_MAX(acc, e) qk_v16_max(e, acc)
QK_DEFINE_POOL_LAST(max_pool_last_f32, float, qk_v16, -QN_INF_F32, !some ? e :, QK_POOL_MAX,
                    (void)0)
QK_DEFINE_POOL_LAST(average_pool_last_f32, float, qk_v16, 0.0f, , qk_v16_add,
                    acc = qk_v16_div(acc, (float)qk_pool_count(p, wd, wh, ww)))

/* Sixteen codes of 8 bits: plain loops, which compilers make vectors of. */
#define QK_DEFINE_CODES16(V, S)                                                                  \
  typedef struct V {                                                                             \
    S s[16];                                                                                     \
  } V;                                                                                           \
  QK_INLINE V V##_set(S x) {                                                                     \
    V v;                                                                                         \
    for (int j = 0; j < 16; ++j) v.s[j] = x;                                                     \
    return v;                                                                                    \
  }                                                                                              \
  QK_INLINE V V##_load_n(const S* p, int32_t n) {                                                \
    V v = {{0}};                                                                                 \
    memcpy(v.s, p, n == 16 ? 16 : (size_t)n);                                                    \
    return v;                                                                                    \
  }                                                                                              \
  QK_INLINE void V##_store_n(S* p, V v, int32_t n) { memcpy(p, v.s, n == 16 ? 16 : (size_t)n); } \
  QK_INLINE V V##_max(V a, V b) {                                                                \
    for (int j = 0; j < 16; ++j) a.s[j] = a.s[j] > b.s[j] ? a.s[j] : b.s[j];                     \
    return a;                                                                                    \
  }
QK_DEFINE_CODES16(qk_i8x16, int8_t)
QK_DEFINE_CODES16(qk_u8x16, uint8_t)
QK_DEFINE_POOL_LAST(max_pool_codes_i8, int8_t, qk_i8x16, INT8_MIN, , qk_i8x16_max, (void)0)
QK_DEFINE_POOL_LAST(max_pool_codes_u8, uint8_t, qk_u8x16, 0, , qk_u8x16_max, (void)0)

/* ---- any layout and type ---- */

#define QK_DEFINE_MAX_POOL(suffix, S, T, MAX, LOWEST, LOAD, STORE, LAST)               \
  QK_INLINE void qk_max_pool_##suffix(const qk_pool_params* p, const S* x, S* y) {     \
    LAST QK_POOL_LOOP(T best = LOWEST; int some = 0, const T e = LOAD(x[i]);           \
                      best = some ? MAX(e, best) : e; some = 1, y[at] = STORE(best))   \
  }                                                                                    \
  QK_INLINE void qk_max_pool_index_##suffix(const qk_pool_params* p, const S* x, S* y, \
                                            int64_t* indices) {                        \
    QK_POOL_LOOP(                                                                      \
        T best = LOWEST; int some = 0; int64_t place = 0, const T e = LOAD(x[i]);      \
        if (!some || e > best || e != e) {                                             \
          best = e;                                                                    \
          place = p->index == 2 ? ((int64_t)v * p->in[1] + h) * p->in[0] + d           \
                                : ((int64_t)d * p->in[1] + h) * p->in[2] + v;          \
          if (p->index != 0) place += (int64_t)row * inputs;                           \
        } some = 1,                                                                    \
        y[at] = STORE(best);                                                           \
        indices[at] = place)                                                           \
  }

#define QK_POOL_SAME(v) (v)
#define QK_POOL_CODES(t)            \
  if (p->last) {                    \
    qk_max_pool_codes_##t(p, x, y); \
    return;                         \
  }
QK_DEFINE_MAX_POOL(f32, float, float, qn_max_f32, -QN_INF_F32, QK_POOL_SAME, QK_POOL_SAME, )
QK_DEFINE_MAX_POOL(f64, double, double, qn_max_f64, -QN_INF_F64, QK_POOL_SAME, QK_POOL_SAME, )
QK_DEFINE_MAX_POOL(f16, uint16_t, float, qn_max_f32, -QN_INF_F32, qn_f16_to_f32, qn_f16_from_f32, )
QK_DEFINE_MAX_POOL(bf16, uint16_t, float, qn_max_f32, -QN_INF_F32, qn_bf16_to_f32,
                   qn_bf16_from_f32, )
QK_DEFINE_MAX_POOL(i8, int8_t, int8_t, qn_max_i8, INT8_MIN, QK_POOL_SAME, QK_POOL_SAME,
                   QK_POOL_CODES(i8))
QK_DEFINE_MAX_POOL(i16, int16_t, int16_t, qn_max_i16, INT16_MIN, QK_POOL_SAME, QK_POOL_SAME, )
QK_DEFINE_MAX_POOL(i32, int32_t, int32_t, qn_max_i32, INT32_MIN, QK_POOL_SAME, QK_POOL_SAME, )
QK_DEFINE_MAX_POOL(i64, int64_t, int64_t, qn_max_i64, INT64_MIN, QK_POOL_SAME, QK_POOL_SAME, )
QK_DEFINE_MAX_POOL(u8, uint8_t, uint8_t, qn_max_u8, 0, QK_POOL_SAME, QK_POOL_SAME,
                   QK_POOL_CODES(u8))
QK_DEFINE_MAX_POOL(u16, uint16_t, uint16_t, qn_max_u16, 0, QK_POOL_SAME, QK_POOL_SAME, )
QK_DEFINE_MAX_POOL(u32, uint32_t, uint32_t, qn_max_u32, 0, QK_POOL_SAME, QK_POOL_SAME, )
QK_DEFINE_MAX_POOL(u64, uint64_t, uint64_t, qn_max_u64, 0, QK_POOL_SAME, QK_POOL_SAME, )

#define QK_DEFINE_MEAN_POOLS(suffix, S, T, t, FMA, LOAD, STORE)                               \
  QK_INLINE void qk_average_pool_##suffix(const qk_pool_params* p, const S* x, S* y){         \
      QK_POOL_LOOP(T sum = 0, sum += LOAD(x[i]),                                              \
                   y[at] = STORE(sum / (T)qk_pool_count(p, wd, wh, ww)))} QK_INLINE void      \
      qk_lp_pool_##suffix(const qk_pool_params* p, const S* x, S* y) {                        \
    const T power = (T)p->power;                                                              \
    QK_POOL_LOOP(T sum = 0, const T e = qn_abs_##t(LOAD(x[i])); if (p->power == 1) sum += e;  \
                 else if (p->power == 2) sum = FMA(e, e, sum);                                \
                 else sum += qn_pow_##t(e, power), if (p->power == 2) sum = qn_sqrt_##t(sum); \
                 if (p->power > 2) sum = qn_pow_##t(sum, (T)1 / power); y[at] = STORE(sum))   \
  }
QK_DEFINE_MEAN_POOLS(f32, float, float, f32, qn_fmaf, QK_POOL_SAME, QK_POOL_SAME)
QK_DEFINE_MEAN_POOLS(f64, double, double, f64, qn_fma, QK_POOL_SAME, QK_POOL_SAME)
QK_DEFINE_MEAN_POOLS(f16, uint16_t, float, f32, qn_fmaf, qn_f16_to_f32, qn_f16_from_f32)
QK_DEFINE_MEAN_POOLS(bf16, uint16_t, float, f32, qn_fmaf, qn_bf16_to_f32, qn_bf16_from_f32)
