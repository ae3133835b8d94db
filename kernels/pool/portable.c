#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/common/shared.h"
#include "kernels/common/vec16.h"
#include "kernels/numerics/chain.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/walk.h"

/* ---- channels-last, sixteen channels at once ---- */

#define QK_WITH                                                                      \
  max_pool_nhwc_f32, float, qk_v16, int some = 0, 0, -QN_INF_F32,                    \
                                        const qk_v16 e = qk_v16_load_n(from, lanes); \
  acc = some ? qk_v16_max(e, acc) : e;                                               \
  some = 1, (void)0
#include "kernels/pool/nhwc.inc"

/* Whether a window may have more taps than one chain of a sum holds. */
QK_INLINE int qk_pool_is_long(const qk_pool_params* p) {
  return p->adaptive || (int64_t)p->k[0] * p->k[1] * p->k[2] > QN_CHAIN;
}
#define QK_POOL_CHAIN(T)                  \
  const int is_long = qk_pool_is_long(p); \
  T above[QN_CHAINS], sum = 0;            \
  int32_t taken = 0;                      \
  for (int l = 0; l < (is_long ? QN_CHAINS : 0); ++l) above[l] = 0
#define QK_POOL_CARRY(t)                           \
  if (is_long && ++taken % QN_CHAIN == 0) {        \
    QK_JOIN(qn_chain_full_, t)(above, taken, sum); \
    sum = 0;                                       \
  }

/* The sum of a long window in sixteen channels, or as many as there are, by the chains of
 * kernels/numerics/chain.h; x is at the first of the channels of an image. */
QK_SHARED void qk_pool_long_sum(const qk_pool_params* p, qk_pool_window wd, qk_pool_window wh,
                                qk_pool_window ww, const float* x, int32_t lanes, float* sum) {
  float chain[QN_CHAINS + 1][16] = {{0}};
  const ptrdiff_t next = (ptrdiff_t)ww.step * p->c;
  int32_t taken = 0, count;
  qk_v16 acc = qk_v16_set(0.0f);
  for (int32_t kd = wd.first; kd < wd.last; ++kd) {
    for (int32_t kh = wh.first; kh < wh.last; ++kh) {
      const ptrdiff_t d = wd.at + kd * wd.step, h = d * p->in[1] + wh.at + kh * wh.step;
      const float* from = x + (h * p->in[2] + ww.at + ww.first * ww.step) * p->c;
      for (int32_t kw = ww.first; kw < ww.last; ++kw, from += next) {
        acc = qk_v16_add(acc, lanes == 16 ? qk_v16_load(from) : qk_v16_load_n(from, lanes));
        if (++taken % QN_CHAIN != 0) continue;
        qk_v16_store(chain[0], acc);
        acc = qk_v16_set(0.0f);
        count = taken;
        for (int l = 0; count % QN_CHAIN == 0; count /= QN_CHAIN, ++l) {
          for (int j = 0; j < 16; ++j) chain[l + 1][j] += chain[l][j];
          for (int j = 0; j < 16; ++j) chain[l][j] = 0.0f;
        }
      }
    }
  }
  qk_v16_store(sum, acc);
  for (int l = 1; (taken /= QN_CHAIN) > 0; ++l) {
    for (int j = 0; j < 16; ++j) sum[j] = chain[l][j] + sum[j];
  }
}
#define QK_POOL_LAST_END                                                   \
  if (is_long) {                                                           \
    const ptrdiff_t image = (ptrdiff_t)p->in[0] * p->in[1] * p->in[2] * c; \
    qk_pool_long_sum(p, wd, wh, ww, x + n * image + block, lanes, sum);    \
    acc = qk_v16_load(sum);                                                \
  }                                                                        \
  acc = qk_v16_div(acc, (float)qk_pool_count(p, wd, wh, ww))
#define QK_WITH                                          \
  average_pool_nhwc_f32, float, qk_v16, float sum[16];   \
  const int is_long = qk_pool_is_long(p), is_long, 0.0f, \
            acc = qk_v16_add(acc, qk_v16_load_n(from, lanes)), QK_POOL_LAST_END
#include "kernels/pool/nhwc.inc"

#define QK_WITH qk_i8x16, int8_t
#include "kernels/pool/codes16.inc"
#define QK_WITH qk_u8x16, uint8_t
#include "kernels/pool/codes16.inc"
#define QK_WITH                                              \
  max_pool_codes_i8, int8_t, qk_i8x16, (void)0, 0, INT8_MIN, \
      acc = qk_i8x16_max(acc, qk_i8x16_load_n(from, lanes)), (void)0
#include "kernels/pool/nhwc.inc"
#define QK_WITH                                        \
  max_pool_codes_u8, uint8_t, qk_u8x16, (void)0, 0, 0, \
      acc = qk_u8x16_max(acc, qk_u8x16_load_n(from, lanes)), (void)0
#include "kernels/pool/nhwc.inc"

/* ---- any layout and type ---- */

#define QK_POOL_SAME(v) (v)
#define QK_POOL_IS_NAN(e) ((e) != (e)) /* never of integers */
#define QK_POOL_CODES(t)            \
  if (p->nhwc) {                    \
    qk_max_pool_codes_##t(p, x, y); \
    return;                         \
  }
#define QK_WITH f32, float, float, qn_max_f32, -QN_INF_F32, QK_POOL_SAME, QK_POOL_SAME,
#include "kernels/pool/max.inc"
#define QK_WITH f64, double, double, qn_max_f64, -QN_INF_F64, QK_POOL_SAME, QK_POOL_SAME,
#include "kernels/pool/max.inc"
#define QK_WITH f16, uint16_t, float, qn_max_f32, -QN_INF_F32, qn_f16_to_f32, qn_f16_from_f32,
#include "kernels/pool/max.inc"
#define QK_WITH bf16, uint16_t, float, qn_max_f32, -QN_INF_F32, qn_bf16_to_f32, qn_bf16_from_f32,
#include "kernels/pool/max.inc"
#define QK_WITH \
  i8, int8_t, int8_t, qn_max_i8, INT8_MIN, QK_POOL_SAME, QK_POOL_SAME, QK_POOL_CODES(i8)
#include "kernels/pool/max.inc"
#define QK_WITH i16, int16_t, int16_t, qn_max_i16, INT16_MIN, QK_POOL_SAME, QK_POOL_SAME,
#include "kernels/pool/max.inc"
#define QK_WITH i32, int32_t, int32_t, qn_max_i32, INT32_MIN, QK_POOL_SAME, QK_POOL_SAME,
#include "kernels/pool/max.inc"
#define QK_WITH i64, int64_t, int64_t, qn_max_i64, INT64_MIN, QK_POOL_SAME, QK_POOL_SAME,
#include "kernels/pool/max.inc"
#define QK_WITH u8, uint8_t, uint8_t, qn_max_u8, 0, QK_POOL_SAME, QK_POOL_SAME, QK_POOL_CODES(u8)
#include "kernels/pool/max.inc"
#define QK_WITH u16, uint16_t, uint16_t, qn_max_u16, 0, QK_POOL_SAME, QK_POOL_SAME,
#include "kernels/pool/max.inc"
#define QK_WITH u32, uint32_t, uint32_t, qn_max_u32, 0, QK_POOL_SAME, QK_POOL_SAME,
#include "kernels/pool/max.inc"
#define QK_WITH u64, uint64_t, uint64_t, qn_max_u64, 0, QK_POOL_SAME, QK_POOL_SAME,
#include "kernels/pool/max.inc"

#define QK_WITH f32, float, float, f32, qn_fmaf, QK_POOL_SAME, QK_POOL_SAME
#include "kernels/pool/mean.inc"
#define QK_WITH f64, double, double, f64, qn_fma, QK_POOL_SAME, QK_POOL_SAME
#include "kernels/pool/mean.inc"
#define QK_WITH f16, uint16_t, float, f32, qn_fmaf, qn_f16_to_f32, qn_f16_from_f32
#include "kernels/pool/mean.inc"
#define QK_WITH bf16, uint16_t, float, f32, qn_fmaf, qn_bf16_to_f32, qn_bf16_from_f32
#include "kernels/pool/mean.inc"
