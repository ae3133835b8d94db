/* Max pools of floats that lie channel by channel, four neighbouring results a thread: the columns
 * of their windows are read once for all of them, 16 bytes at once where they are aligned. */
#ifndef QK_POOL_FOURS_H
#define QK_POOL_FOURS_H

#include "kernels/common/unroll.h"
#include "kernels/numerics/base.h"
#include "kernels/pool/position.h"

#define QK_FOURS_SIDE 4 /* columns beside those of the strides that windows may reach */
#define QK_FOURS_MOST (4 * 4 + 2 * QK_FOURS_SIDE)

/* How many fours there are; 0 where windows are others. */
QK_INLINE int64_t qk_pool_fours(const qk_pool_params* p) {
  const int32_t stride = p->stride[2];
  const int32_t reach = (p->k[2] - 1) * p->dilation[2] - p->pad[2] - stride + 1;
  const int64_t fours = (int64_t)p->n * p->c * p->out[0] * p->out[1] * (p->out[2] / 4);
  const int fits = !p->nhwc && !p->adaptive && (stride == 1 || stride == 2 || stride == 4) &&
                   p->out[2] % 4 == 0 && p->out[2] * stride == p->in[2] &&
                   p->valid[2] == p->in[2] && p->pad[2] <= QK_FOURS_SIDE &&
                   reach <= QK_FOURS_SIDE && fours <= INT32_MAX;
  return fits ? fours : 0;
}

/* The columns of four windows in a row, which begins at `row`; `column` is the first of those that
 * belong to their strides. What no window reaches, or is outside of the input, is not read. */
QK_INLINE void qk_fours_row(const qk_pool_params* p, const float* row, int32_t column, int aligned,
                            float* e) {
  const int32_t first = QK_FOURS_SIDE - p->pad[2], own = 4 * p->stride[2];
  const int32_t last = first + 3 * p->stride[2] + (p->k[2] - 1) * p->dilation[2];
  QK_EACH_ON_GPU
  for (int32_t i = 0; i < QK_FOURS_MOST; ++i) {
    const int32_t c = column + i - QK_FOURS_SIDE;
    const int middle = i >= QK_FOURS_SIDE && i < QK_FOURS_SIDE + own;
    e[i] = 0.0f;
    if (i < first || i > last || (aligned && middle)) continue;
    if (middle || (c >= 0 && c < p->in[2])) e[i] = row[c];
  }
#if defined(__CUDA_ARCH__)
  QK_EACH_ON_GPU
  for (int32_t i = 0; i < 16; i += 4) {
    if (!aligned || i >= own) continue;
    const float4 four = *(const float4*)(row + column + i);
    e[QK_FOURS_SIDE + i] = four.x, e[QK_FOURS_SIDE + i + 1] = four.y;
    e[QK_FOURS_SIDE + i + 2] = four.z, e[QK_FOURS_SIDE + i + 3] = four.w;
  }
#endif
}

/* The largest of the taps that windows have in a row, after those of `best`, in their order. */
QK_INLINE void qk_fours_join(const qk_pool_params* p, const float* e, int32_t column, int some,
                             float* best) {
  QK_EACH_ON_GPU
  for (int32_t o = 0; o < 4; ++o) {
    QK_EACH_ON_GPU
    for (int32_t kw = 0; kw < p->k[2]; ++kw) {
      const int32_t i = QK_FOURS_SIDE - p->pad[2] + o * p->stride[2] + kw * p->dilation[2];
      const int32_t c = column + i - QK_FOURS_SIDE;
      const int middle = i >= QK_FOURS_SIDE && i < QK_FOURS_SIDE + 4 * p->stride[2];
      if (some && (middle || (c >= 0 && c < p->in[2]))) best[o] = qn_max_f32(e[i], best[o]);
    }
  }
}

/* Rows outside of the input are read from the nearest inside, and do not count. Beginning with the
 * least of all floats changes nothing: it is never larger than a tap. */
QK_INLINE void qk_max_pool_four(const qk_pool_params* p, int64_t unit, const float* x, float* y,
                                int aligned) {
  const uint32_t fours = (uint32_t)(p->out[2] / 4), own = (uint32_t)unit;
  const uint32_t line = own / fours, rows = line / (uint32_t)p->out[1];
  const int32_t column = (int32_t)(own % fours) * 4 * p->stride[2];
  const qk_pool_window d = qk_pool_taps(p, 0, (int32_t)(rows % (uint32_t)p->out[0]));
  const qk_pool_window h = qk_pool_taps(p, 1, (int32_t)(line % (uint32_t)p->out[1]));
  const int64_t plane = rows / (uint32_t)p->out[0];
  float best[4] = {-QN_INF_F32, -QN_INF_F32, -QN_INF_F32, -QN_INF_F32};
  for (int32_t kd = d.first; kd < d.last && h.first < h.last; ++kd) {
    QK_EACH_ON_GPU
    for (int32_t kh = 0; kh < p->k[1]; ++kh) {
      const int64_t depth = plane * p->in[0] + d.at + kd * d.step;
      const int64_t row = depth * p->in[1] + qk_pool_nearest(&h, kh);
      float e[QK_FOURS_MOST];
      qk_fours_row(p, x + row * p->in[2], column, aligned, e);
      qk_fours_join(p, e, column, kh >= h.first && kh < h.last, best);
    }
  }
  float* const to = y + (int64_t)own * 4;
#if defined(__CUDA_ARCH__)
  if (aligned) {
    *(float4*)to = make_float4(best[0], best[1], best[2], best[3]);
    return;
  }
#endif
  for (int32_t o = 0; o < 4; ++o) to[o] = best[o];
}
QK_INLINE void qk_max_pool_four_f32(const qk_pool_params* p, int64_t unit, const void* x, void* y) {
#if defined(__CUDA_ARCH__)
  if (((uintptr_t)x | (uintptr_t)y) % 16 == 0) {
    qk_max_pool_four(p, unit, (const float*)x, (float*)y, 1);
    return;
  }
#endif
  qk_max_pool_four(p, unit, (const float*)x, (float*)y, 0);
}

#endif
