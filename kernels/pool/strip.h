/* Pools of codes of 8 bits that lie channel by channel, 16 columns of the input a thread: they and
 * the four on either side are read at once, joined over the rows of the window, then over its
 * columns. */
#ifndef QK_POOL_STRIP_H
#define QK_POOL_STRIP_H

#include <string.h>

#include "kernels/common/unroll.h"
#include "kernels/pool/walk.h"

#define QK_STRIP 16     /* columns of the input whose windows begin in a strip */
#define QK_STRIP_SIDE 4 /* columns beside it that windows may reach */
#define QK_STRIP_COLUMNS (QK_STRIP + 2 * QK_STRIP_SIDE)

/* Whether windows are such that strips are pooled each by itself: they reach no further than the
 * sides, and there is one for each step of the stride. */
QK_INLINE int qk_pool_in_strips(const qk_pool_params* p) {
  const int32_t span = (p->k[2] - 1) * p->dilation[2] + 1, stride = p->stride[2];
  return !p->nhwc && !p->adaptive && (stride == 1 || stride == 2 || stride == 4) &&
         p->in[2] % QK_STRIP == 0 && p->valid[2] == p->in[2] && p->out[2] * stride == p->in[2] &&
         p->pad[2] <= QK_STRIP_SIDE && span <= p->pad[2] + stride + QK_STRIP_SIDE;
}
QK_INLINE int64_t qk_pool_strips(const qk_pool_params* p) {
  return (int64_t)p->n * p->c * p->out[0] * p->out[1] * (p->in[2] / QK_STRIP);
}

/* Strip `unit`: its first column, the plane it is of, the windows of its rows. */
typedef struct qk_pool_strip {
  int32_t column;
  int64_t plane, at; /* `at` is its first result */
  qk_pool_window d, h;
} qk_pool_strip;
QK_INLINE qk_pool_strip qk_pool_strip_at(const qk_pool_params* p, int64_t unit) {
  const int32_t strips = p->in[2] / QK_STRIP;
  const int32_t line = (int32_t)(unit / strips), rows = line / p->out[1];
  qk_pool_strip s;
  s.column = (int32_t)(unit % strips) * QK_STRIP;
  s.plane = rows / p->out[0];
  s.at = (int64_t)line * p->out[2] + s.column / p->stride[2];
  s.d = qk_pool_taps(p, 0, rows % p->out[0]);
  s.h = qk_pool_taps(p, 1, line % p->out[1]);
  return s;
}

/* Bytes that are aligned to their number, 4 or 16. */
QK_INLINE void qk_strip_load(uint32_t* to, const uint8_t* from, int32_t words) {
#if defined(__CUDA_ARCH__)
  if (words == 4) {
    const uint4 own = *(const uint4*)from;
    to[0] = own.x, to[1] = own.y, to[2] = own.z, to[3] = own.w;
  } else {
    to[0] = *(const uint32_t*)from;
  }
#else
  memcpy(to, from, 4 * (size_t)words);
#endif
}
/* The columns of a strip in a row of the input, those beside it included where they are inside. */
QK_INLINE void qk_strip_row(const qk_pool_params* p, const uint8_t* row, int32_t column,
                            int aligned, uint32_t* words) {
  const int32_t reach = (p->k[2] - 1) * p->dilation[2] - p->pad[2] - p->stride[2] + 1;
  QK_EACH_ON_GPU
  for (int i = 0; i < QK_STRIP_COLUMNS / 4; ++i) words[i] = 0;
  if (aligned) {
    if (p->pad[2] > 0 && column > 0) qk_strip_load(&words[0], row - 4, 1);
    qk_strip_load(&words[1], row, 4);
    if (reach > 0 && column + QK_STRIP < p->in[2]) qk_strip_load(&words[5], row + QK_STRIP, 1);
    return;
  }
  QK_EACH_ON_GPU
  for (int i = 0; i < QK_STRIP_COLUMNS; ++i) {
    const int32_t c = column + i - QK_STRIP_SIDE;
    if (c >= 0 && c < p->in[2]) words[i / 4] |= (uint32_t)row[i - QK_STRIP_SIDE] << 8 * (i % 4);
  }
}
/* Column i, counted from the left side. */
QK_INLINE uint8_t qk_strip_byte(const uint32_t* words, int i) {
  return (uint8_t)(words[i / 4] >> 8 * (i % 4));
}
/* Whether it is inside the input. */
QK_INLINE int qk_strip_inside(const qk_pool_params* p, int32_t column, int i) {
  const int32_t c = column + i - QK_STRIP_SIDE;
  return c >= 0 && c < p->in[2];
}

/* Stores the results of a strip, bytes of words. */
QK_INLINE void qk_strip_put(uint8_t* y, const uint32_t* words, int32_t count) {
#if defined(__CUDA_ARCH__)
  if ((uintptr_t)y % (uint32_t)count == 0) {
    if (count == 16) *(uint4*)y = make_uint4(words[0], words[1], words[2], words[3]);
    if (count == 8) *(uint2*)y = make_uint2(words[0], words[1]);
    if (count == 4) *(uint32_t*)y = words[0];
    return;
  }
#endif
  QK_EACH_ON_GPU
  for (int i = 0; i < QK_STRIP; ++i) {
    if (i < count) y[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
  }
}

#endif
