/* A unit is a query of a head, which 256 threads compute together (kernels/common/thread_block.h):
 * a thread for each key, then one for each element of the result. */
#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/common/thread_block.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/qattention/block_codes.h"
#include "kernels/qattention/seen.h"

#define QK_QATTENTION_KEYS 8192 /* whose scores a unit holds */

/* The score of key j before the softmax. */
QK_UNIT float qk_qattention_score(const qk_qattention_params* p, const qk_block_codes* q,
                                  const qk_block_codes* k, int32_t query, int32_t j,
                                  const uint8_t* keep, const float* add) {
  const int32_t zq = qk_block_zero(q, query), zk = qk_block_zero(k, j);
  const float by = qn_mulf(qk_block_scale(q, query), p->scale);
  uint32_t sum = 0;
  float s;
  for (int32_t d = 0; d < p->depth; ++d)
    sum += (uint32_t)((qk_block_code_at(q, query, d) - zq) * (qk_block_code_at(k, j, d) - zk));
  s = qn_mulf((float)(int32_t)sum, qn_mulf(by, qk_block_scale(k, j)));
  if (p->softcap > 0.0f) s = qn_mulf(qn_tanh_f32(s / p->softcap), p->softcap);
  if (keep && !keep[p->mask[3] == 1 ? j : 0]) s = -QN_INF_F32;
  return add ? s + add[p->mask[3] == 1 ? j : 0] : s;
}

QK_BLOCK_SHARES(qk_qattention_block, qk_qattention_params)
QK_UNIT int64_t qk_qattention_block_units(const qk_qattention_params* p) {
  return (int64_t)p->batch * p->heads * p->queries;
}
/* With a scale for each row of v the weights have it, and their largest stands for 255. */
QK_UNIT void qk_qattention_block(const qk_qattention_params* p, int64_t unit, const void* q,
                                 const void* k, const void* v, const void* keep, const void* add,
                                 const void* q_scales, const void* q_zeros, const void* k_scales,
                                 const void* k_zeros, const void* v_scales, const void* v_zeros,
                                 void* y) {
  QK_BLOCK_SHARED float scores[QK_QATTENTION_KEYS];
  QK_BLOCK_SHARED float lanes[QK_BLOCK_LANES];
  QK_BLOCK_SHARED float max, sum, largest;
  const int32_t i = (int32_t)(unit % p->queries), h = (int32_t)(unit / p->queries % p->heads);
  const int32_t b = (int32_t)(unit / p->queries / p->heads), kv = h / (p->heads / p->kv_heads);
  const int64_t y_at = qk_head_at(p->y_at, b, h) + (int64_t)i * p->y_at[2];
  const qk_block_codes qr = QK_BLOCK_CODES(p, q, q_scales, q_zeros, b, h);
  const qk_block_codes kr = QK_BLOCK_CODES(p, k, k_scales, k_zeros, b, kv);
  const qk_block_codes vr = QK_BLOCK_CODES(p, v, v_scales, v_zeros, b, kv);
  const int64_t mask = (int64_t)b * p->mask[0] + (int64_t)h * p->mask[1] + (int64_t)i * p->mask[2];
  const qk_seen see = qk_keys_seen(p, i);
  const int32_t first = see.first, end = see.end;
  const int by_row = v_scales && p->v_rows;
  const qk_block_rows m = {1, QK_THREAD_BLOCK,
                           end > QN_BLOCK ? (end + QN_BLOCK - 1) / QN_BLOCK : 1};
  QK_EACH_THREAD(t) {
    for (int32_t j = t; j < end; j += QK_THREAD_BLOCK)
      scores[j] =
          j < first ? -QN_INF_F32
                    : qk_qattention_score(p, &qr, &kr, i, j, keep ? (const uint8_t*)keep + mask : 0,
                                          add ? (const float*)add + mask : 0);
  }
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) { qk_block_max_lanes(&m, t, scores, 0, end, 0.0f, lanes); }
  qk_block_max_join(&m, lanes);
  QK_EACH_THREAD(t) {
    if (t == 0) max = lanes[0];
  }
  QK_BLOCK_SYNC
  const int blind = max == -QN_INF_F32;
  QK_EACH_THREAD(t) {
    for (int32_t j = t; j < end; j += QK_THREAD_BLOCK)
      scores[j] = blind || j < first ? 0.0f : qn_exp_f32(scores[j] - max);
  }
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) { qk_block_sum_lanes(&m, t, scores, 0, end, 0.0f, lanes); }
  qk_block_sum_join(&m, lanes);
  QK_EACH_THREAD(t) {
    if (t == 0) sum = lanes[0];
    if (t == 0) largest = 1.0f;
  }
  QK_BLOCK_SYNC
  if (by_row && !blind) {
    QK_EACH_THREAD(t) {
      for (int32_t j = first + t; j < end; j += QK_THREAD_BLOCK)
        scores[j] = qn_mulf(scores[j], qk_block_scale(&vr, j));
    }
    QK_BLOCK_SYNC
    QK_EACH_THREAD(t) { qk_block_max_lanes(&m, t, scores + first, 0, end - first, 0.0f, lanes); }
    qk_block_max_join(&m, lanes);
    QK_EACH_THREAD(t) {
      if (t == 0) largest = lanes[0];
    }
    QK_BLOCK_SYNC
  }
  QK_EACH_THREAD(t) {
    const float steps = 255.0f / largest;
    for (int32_t j = first + t; j < end; j += QK_THREAD_BLOCK)
      scores[j] = blind ? 0.0f : (float)qn_code(qn_mulf(scores[j], steps), 0, 0, 255);
  }
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) {
    float by = (largest / 255.0f) / sum;
    if (blind) by = p->nan_rows ? QN_INF_F32 - QN_INF_F32 : 1.0f;
    if (!by_row) by = qn_mulf(by, v_scales ? *(const float*)v_scales : p->v_scale);
    if (p->y_type != QK_F32) by = by / p->y_scale;
    for (int32_t c = t; c < p->value_depth; c += QK_THREAD_BLOCK) {
      const int64_t to = y_at + c;
      uint32_t s = 0;
      for (int32_t j = first; j < end; ++j) {
        const int32_t code = qk_block_code_at(&vr, j, c);
        s += (uint32_t)((int32_t)scores[j] * (code - qk_block_zero(&vr, j)));
      }
      const float r = qn_mulf((float)(int32_t)s, by);
      if (p->y_type == QK_F32) {
        ((float*)y)[to] = r;
      } else {
        qk_store_code(y, p->y_type, (ptrdiff_t)to, qn_code(r, p->y_zero, p->lo, p->hi));
      }
    }
  }
}
