/* Pools of codes of 8 bits that lie channel by channel, 16 columns of the input a thread: they and
 * the four on either side are read at once as words of four columns, which stay words. The last
 * strip of a row may have fewer columns, whole words. */
#ifndef QK_POOL_STRIP_H
#define QK_POOL_STRIP_H

#include <string.h>

#include "kernels/common/unroll.h"
#include "kernels/pool/position.h"

#define QK_STRIP 16     /* columns of the input whose windows begin in a strip */
#define QK_STRIP_SIDE 4 /* columns beside it that windows may reach */
#define QK_STRIP_COLUMNS (QK_STRIP + 2 * QK_STRIP_SIDE)
#define QK_STRIP_WORDS (QK_STRIP_COLUMNS / 4)

QK_INLINE int32_t qk_strips_of_row(const qk_pool_params* p) {
  return (p->in[2] + QK_STRIP - 1) / QK_STRIP;
}
QK_INLINE int64_t qk_pool_strips(const qk_pool_params* p) {
  return (int64_t)p->n * p->c * p->out[0] * p->out[1] * qk_strips_of_row(p);
}
/* How many columns to the right of a strip its windows reach. */
QK_INLINE int32_t qk_strip_reach(const qk_pool_params* p) {
  return (p->k[2] - 1) * p->dilation[2] - p->pad[2] - p->stride[2] + 1;
}
/* Whether windows are such that strips are pooled each by itself: they reach no further than the
 * sides, there is one for each step of the stride, and numbers of 32 bits count them. */
QK_INLINE int qk_pool_in_strips(const qk_pool_params* p) {
  const int32_t stride = p->stride[2];
  return !p->nhwc && !p->adaptive && (stride == 1 || stride == 2 || stride == 4) &&
         p->in[2] % 4 == 0 && p->valid[2] == p->in[2] && p->out[2] * stride == p->in[2] &&
         p->pad[2] <= QK_STRIP_SIDE && qk_strip_reach(p) <= QK_STRIP_SIDE &&
         qk_pool_strips(p) <= INT32_MAX;
}

/* Strip `unit`: its first column, the plane it is of, the windows of its rows. */
typedef struct qk_pool_strip {
  int32_t column, count; /* of results */
  int64_t plane, at;     /* `at` is the first of them */
  qk_pool_window d, h;
} qk_pool_strip;
QK_INLINE qk_pool_strip qk_pool_strip_at(const qk_pool_params* p, int64_t unit) {
  const uint32_t strips = (uint32_t)qk_strips_of_row(p), own = (uint32_t)unit;
  const uint32_t line = own / strips, rows = line / (uint32_t)p->out[1];
  qk_pool_strip s;
  s.column = (int32_t)(own % strips) * QK_STRIP;
  s.count = QK_STRIP / p->stride[2];
  if (p->in[2] % QK_STRIP != 0 && p->in[2] - s.column < QK_STRIP)
    s.count = (p->in[2] - s.column) / p->stride[2];
  s.plane = rows / (uint32_t)p->out[0];
  s.at = (int64_t)line * p->out[2] + s.column / p->stride[2];
  s.d = qk_pool_taps(p, 0, (int32_t)(rows % (uint32_t)p->out[0]));
  s.h = qk_pool_taps(p, 1, (int32_t)(line % (uint32_t)p->out[1]));
  return s;
}
/* Where the strip begins in the row of taps kd and kh, or of the nearest that are inside. */
QK_INLINE int64_t qk_strip_from(const qk_pool_params* p, const qk_pool_strip* s, int32_t kd,
                                int32_t kh) {
  const int64_t d = s->plane * p->in[0] + qk_pool_nearest(&s->d, kd);
  return (d * p->in[1] + qk_pool_nearest(&s->h, kh)) * p->in[2] + s->column;
}
/* Whether the strip has any row. */
QK_INLINE int qk_strip_some(const qk_pool_strip* s) {
  return s->d.last > s->d.first && s->h.last > s->h.first;
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
/* Whether strips are read 16 bytes or a word at once, as their width allows; else by bytes. */
QK_INLINE int qk_strip_aligned(const qk_pool_params* p, const void* x) {
  return (uintptr_t)x % (p->in[2] % QK_STRIP == 0 ? 16 : 4) == 0;
}
/* Word i of a strip in a row of the input: four columns, or `outside` where they are. */
QK_INLINE uint32_t qk_strip_word(const qk_pool_params* p, const uint8_t* row, int32_t column, int i,
                                 int aligned, uint32_t outside) {
  const int32_t c = column + 4 * i - QK_STRIP_SIDE;
  const uint8_t* const from = row + 4 * i - QK_STRIP_SIDE;
  uint32_t word = outside;
  if (c < 0 || c >= p->in[2]) return word;
  if (aligned) {
    qk_strip_load(&word, from, 1);
    return word;
  }
  return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}
/* The columns of a strip in a row of the input, those beside it included where windows reach them.
 */
QK_INLINE void qk_strip_row(const qk_pool_params* p, const uint8_t* row, int32_t column,
                            int aligned, uint32_t outside, uint32_t* words) {
  const int left = p->pad[2] > 0, right = qk_strip_reach(p) > 0;
  QK_EACH_ON_GPU
  for (int i = 0; i < QK_STRIP_WORDS; ++i) words[i] = outside;
  if (aligned && p->in[2] % QK_STRIP == 0) {
    if (left && column > 0) qk_strip_load(&words[0], row - 4, 1);
    qk_strip_load(&words[1], row, 4);
    if (right && column + QK_STRIP < p->in[2]) qk_strip_load(&words[5], row + QK_STRIP, 1);
    return;
  }
  QK_EACH_ON_GPU
  for (int i = left ? 0 : 1; i < QK_STRIP_WORDS - (right ? 0 : 1); ++i)
    words[i] = qk_strip_word(p, row, column, i, aligned, outside);
}
/* Column i, counted from the left side. */
QK_INLINE uint8_t qk_strip_byte(const uint32_t* words, int i) {
  return (uint8_t)(words[i / 4] >> 8 * (i % 4));
}
/* Four columns, `step` from each other. */
QK_INLINE uint32_t qk_strip_four(const uint32_t* words, int from, int step) {
#if defined(__CUDA_ARCH__)
  const int i = from, j = from + step, k = from + 2 * step, l = from + 3 * step, low = i / 4 * 4;
  if (l / 4 - i / 4 <= 1)
    return __byte_perm(words[i / 4], words[l / 4],
                       (uint32_t)((i - low) | (j - low) << 4 | (k - low) << 8 | (l - low) << 12));
  return __byte_perm(__byte_perm(words[i / 4], words[j / 4], (uint32_t)(i % 4 | (4 + j % 4) << 4)),
                     __byte_perm(words[k / 4], words[l / 4], (uint32_t)(k % 4 | (4 + l % 4) << 4)),
                     0x5410);
#else
  uint32_t four = 0;
  for (int i = 0; i < 4; ++i) four |= (uint32_t)qk_strip_byte(words, from + i * step) << 8 * i;
  return four;
#endif
}
/* Stores the results of a strip, bytes of words. */
QK_INLINE void qk_strip_put(uint8_t* y, const uint32_t* words, int32_t count) {
#if defined(__CUDA_ARCH__)
  if (count == 16 && (uintptr_t)y % 16 == 0) {
    *(uint4*)y = make_uint4(words[0], words[1], words[2], words[3]);
    return;
  }
  if (count == 8 && (uintptr_t)y % 8 == 0) {
    *(uint2*)y = make_uint2(words[0], words[1]);
    return;
  }
#endif
  const int wide = (uintptr_t)y % 4 == 0;
  QK_EACH_ON_GPU
  for (int i = 0; i < QK_STRIP; i += 4) {
    if (wide && i + 4 <= count) {
      memcpy(__builtin_assume_aligned(y + i, 4), &words[i / 4], 4);
      continue;
    }
    QK_EACH_ON_GPU
    for (int k = i; k < i + 4; ++k) {
      if (k < count) y[k] = qk_strip_byte(words, k);
    }
  }
}

#endif
