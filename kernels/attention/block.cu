/* A unit is a query of a head, which 256 threads compute together (kernels/common/thread_block.h):
 * a thread for each key, then one for each element of the result. */
#include "kernels/attention/attention.h"
#include "kernels/attention/heads.h"
#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/common/thread_block.h"
#include "kernels/numerics/scalar_ops.h"

#define QK_ATTENTION_KEYS 8192 /* whose scores a unit holds */

/* The score of key j before the softmax; keep and add stand at the row's first key. */
QK_UNIT float qk_attention_score(const qk_attention_params* p, int64_t at, int32_t j,
                                 const float* q, const float* k, const uint8_t* keep,
                                 const float* add) {
  float s = 0.0f;
  for (int32_t d = 0; d < p->depth; ++d) s = qn_fmaf(q[d], k[d], s);
  s = qn_mulf(s, p->scale);
  if (p->softcap > 0.0f) s = qn_mulf(qn_tanh_f32(s / p->softcap), p->softcap);
  if (keep && !keep[(int64_t)j * p->mask[3]]) s = -QN_INF_F32;
  if (add) s += add[(int64_t)j * p->mask[3]];
  if (p->left >= 0 && j < at - p->left) s = -QN_INF_F32;
  if (p->right >= 0 && j > at + p->right) s = -QN_INF_F32;
  return s;
}

QK_BLOCK_SHARES(qk_attention_block, qk_attention_params)
QK_UNIT int64_t qk_attention_block_units(const qk_attention_params* p) {
  return (int64_t)p->batch * p->heads * p->queries;
}
QK_UNIT void qk_attention_block(const qk_attention_params* p, int64_t unit, const void* q,
                                const void* k, const void* v, const void* keep, const void* add,
                                void* y) {
  QK_BLOCK_SHARED float scores[QK_ATTENTION_KEYS];
  QK_BLOCK_SHARED float lanes[QK_BLOCK_LANES];
  QK_BLOCK_SHARED float max, sum;
  const int32_t n = p->keys, i = (int32_t)(unit % p->queries);
  const int32_t h = (int32_t)(unit / p->queries % p->heads);
  const int32_t b = (int32_t)(unit / p->queries / p->heads);
  const int32_t kv = h / (p->heads / p->kv_heads);
  const int64_t mask = (int64_t)b * p->mask[0] + (int64_t)h * p->mask[1] + (int64_t)i * p->mask[2];
  const float* const query = (const float*)q + qk_head_at(p->q_at, b, h) + (int64_t)i * p->q_at[2];
  float* const to = (float*)y + qk_head_at(p->y_at, b, h) + (int64_t)i * p->y_at[2];
  const float* const keys = (const float*)k + qk_head_at(p->k_at, b, kv);
  const float* const values = (const float*)v + qk_head_at(p->v_at, b, kv);
  const qk_block_rows m = {1, QK_THREAD_BLOCK, n > QN_BLOCK ? (n + QN_BLOCK - 1) / QN_BLOCK : 1};
#if !defined(__CUDA_ARCH__)
  max = sum = 0.0f; /* host compilers do not see that thread 0 sets them */
#endif
  QK_EACH_THREAD(t) {
    for (int32_t j = t; j < n; j += QK_THREAD_BLOCK)
      scores[j] = qk_attention_score(
          p, (int64_t)i + p->offset, j, query, keys + (int64_t)j * p->k_at[2],
          keep ? (const uint8_t*)keep + mask : 0, add ? (const float*)add + mask : 0);
  }
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) { qk_block_max_lanes(&m, t, scores, 0, n, 0.0f, lanes); }
  qk_block_max_join(&m, lanes);
  QK_EACH_THREAD(t) {
    if (t == 0) max = lanes[0];
  }
  QK_BLOCK_SYNC
  const int none = max == -QN_INF_F32 && !p->nan_rows;
  QK_EACH_THREAD(t) {
    for (int32_t j = t; j < n; j += QK_THREAD_BLOCK)
      scores[j] = none ? 0.0f : qn_exp_f32(scores[j] - max);
  }
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) { qk_block_sum_lanes(&m, t, scores, 0, n, 0.0f, lanes); }
  qk_block_sum_join(&m, lanes);
  QK_EACH_THREAD(t) {
    if (t == 0) sum = none ? 1.0f : lanes[0];
  }
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) {
    for (int32_t j = t; j < n; j += QK_THREAD_BLOCK) scores[j] /= sum;
  }
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) {
    for (int32_t c = t; c < p->value_depth; c += QK_THREAD_BLOCK) {
      float s = 0.0f;
      for (int32_t j = 0; j < n; ++j)
        s = qn_fmaf(scores[j], values[(int64_t)j * p->v_at[2] + c], s);
      to[c] = s;
    }
  }
}
