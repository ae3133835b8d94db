/* One element of a pooled region: samples on a regular grid in its cell, averaged or the largest.
 */
#ifndef QN_ROI_H
#define QN_ROI_H

#include "base.h"

/* Neighbours of v along an axis and the weight of the upper one; 0 when v is outside. */
QN_FN int qn_roi_axis(float v, int32_t size, int32_t* low, int32_t* high, float* upper) {
  if (!(v >= -1.0f && v <= (float)size)) return 0;
  if (v <= 0.0f) v = 0.0f;
  *low = (int32_t)v;
  if (*low >= size - 1) {
    *low = *high = size - 1;
    *upper = 0.0f;
  } else {
    *high = *low + 1;
    *upper = v - (float)(*low);
  }
  return 1;
}

/* How many samples a cell of `cell` elements gets along an axis. */
QN_FN int32_t qn_roi_samples(int32_t ratio, float cell) {
  const float n = ceilf(cell);
  if (ratio > 0) return ratio;
  return n >= 1.0f ? (n < 1024.0f ? (int32_t)n : 1024) : 0;
}

/* x is one plane; roi is x1, y1, x2, y2; (row, column) a cell of rows by columns. */
QN_FN float qn_roi_align_f32(const float* x, int32_t height, int32_t width, const float* roi,
                             float scale, int half_pixel, int32_t ratio, int largest, int32_t rows,
                             int32_t columns, int32_t row, int32_t column) {
  const float shift = half_pixel ? -0.5f : 0.0f;
  const float left = qn_fmaf(roi[0], scale, shift), top = qn_fmaf(roi[1], scale, shift);
  float w = qn_fmaf(roi[2], scale, shift) - left, h = qn_fmaf(roi[3], scale, shift) - top;
  float sum = 0.0f;
  int32_t i, j, ny, nx;
  if (!half_pixel) {
    w = qn_max_f32(w, 1.0f);
    h = qn_max_f32(h, 1.0f);
  }
  h /= (float)rows;
  w /= (float)columns;
  ny = qn_roi_samples(ratio, h);
  nx = qn_roi_samples(ratio, w);
  for (i = 0; i < ny; ++i) {
    const float y = qn_fmaf((float)row, h, top) + qn_mulf((float)i + 0.5f, h) / (float)ny;
    for (j = 0; j < nx; ++j) {
      const float at = qn_fmaf((float)column, w, left) + qn_mulf((float)j + 0.5f, w) / (float)nx;
      int32_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
      float ly = 0.0f, lx = 0.0f, a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
      const int inside =
          qn_roi_axis(y, height, &y0, &y1, &ly) && qn_roi_axis(at, width, &x0, &x1, &lx);
      if (inside) {
        a = qn_mulf(1.0f - ly, 1.0f - lx);
        b = qn_mulf(1.0f - ly, lx);
        c = qn_mulf(ly, 1.0f - lx);
        d = qn_mulf(ly, lx);
      }
      a = qn_mulf(a, x[y0 * width + x0]);
      b = qn_mulf(b, x[y0 * width + x1]);
      c = qn_mulf(c, x[y1 * width + x0]);
      d = qn_mulf(d, x[y1 * width + x1]);
      if (largest) {
        const float m = qn_max_f32(qn_max_f32(a, b), qn_max_f32(c, d));
        sum = i == 0 && j == 0 ? m : qn_max_f32(sum, m);
      } else {
        sum += a + b + (c + d);
      }
    }
  }
  return largest || ny * nx == 0 ? sum : sum / (float)(ny * nx);
}

#endif /* QN_ROI_H */
