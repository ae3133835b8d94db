/* Where a sampling point lies along an axis, and which elements make up its value. */
#ifndef QN_SAMPLE_H
#define QN_SAMPLE_H

#include "base.h"

enum { QN_SAMPLE_NEAREST = 0, QN_SAMPLE_LINEAR = 1, QN_SAMPLE_CUBIC = 2 };
enum { QN_OUTSIDE_ZERO = 0, QN_OUTSIDE_BORDER = 1, QN_OUTSIDE_REFLECT = 2 };

/* x mirrored at low and high until it is between them. */
QN_FN float qn_reflect(float x, float low, float high) {
  const float span = high - low;
  float from, extra, times;
  if (!(span > 0.0f)) return 0.0f;
  from = qn_abs_f32(x - low);
  extra = fmodf(from, span);
  times = floorf(from / span);
  return fmodf(times, 2.0f) == 0.0f ? extra + low : span - extra + low;
}

/* The coordinate x, clipped or reflected into an axis of `size` elements as PyTorch does. */
QN_FN float qn_bring_inside(float x, int32_t size, int outside, int corners) {
  const float last = (float)(size - 1);
  float y = x;
  if (outside == QN_OUTSIDE_ZERO) return x;
  if (outside == QN_OUTSIDE_REFLECT) {
    y = corners ? qn_reflect(x, 0.0f, last) : qn_reflect(x, -0.5f, last + 0.5f);
  }
  return y > 0.0f ? (y < last ? y : last) : 0.0f;
}

/* An integral x as an index; -1 when it is outside the axis (or no number). */
QN_FN int32_t qn_inside(float x, int32_t size) {
  return x >= 0.0f && x < (float)size ? (int32_t)x : -1;
}

/* Elements and weights for the point g in [-1, 1] of an axis; returns how many (1, 2 or 4). An
 * index of -1 is an element outside the axis that counts as zero. Interpolating at no place (NaN or
 * infinite, unless `outside` moves it into the axis) gives weights that are NaN. */
QN_FN int qn_sample(float g, int32_t size, int mode, int outside, int corners, int32_t* index,
                    float* weight) {
  const float a = -0.75f;
  float x = corners ? qn_mulf((g + 1.0f) * 0.5f, (float)(size - 1))
                    : qn_fmaf(g + 1.0f, (float)size, -1.0f) * 0.5f;
  float low, t;
  int k;
  if (mode != QN_SAMPLE_CUBIC) x = qn_bring_inside(x, size, outside, corners);
  if (mode == QN_SAMPLE_NEAREST) {
    index[0] = qn_inside(qn_round_f32(x), size);
    weight[0] = 1.0f;
    return 1;
  }
  low = floorf(x);
  t = x - low;
  if (mode == QN_SAMPLE_LINEAR) {
    index[0] = qn_inside(low, size);
    index[1] = qn_inside(low + 1.0f, size);
    weight[0] = low + 1.0f - x;
    weight[1] = t;
    return 2;
  }
  for (k = 0; k < 4; ++k) {
    const float d = qn_abs_f32(t + 1.0f - (float)k); /* distance of the element */
    const float near = qn_fmaf(qn_mulf(qn_fmaf(a + 2.0f, d, -(a + 3.0f)), d), d, 1.0f);
    const float far = qn_fmaf(qn_fmaf(qn_fmaf(a, d, -5.0f * a), d, 8.0f * a), d, -4.0f * a);
    index[k] = qn_inside(qn_bring_inside(low - 1.0f + (float)k, size, outside, corners), size);
    weight[k] = k == 1 || k == 2 ? near : far;
  }
  return 4;
}

/* What the sum of a point's products starts at, given the first weight along each axis: 0, and NaN
 * where the point is no place, even if no element is near it. */
QN_FN float qn_sample_start(float a, float b, float c) {
  return a != a || b != b || c != c ? QN_NAN_F32 : 0.0f;
}

#endif /* QN_SAMPLE_H */
