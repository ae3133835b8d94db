#include <stddef.h>

#include "kernels/common/inline.h"
#include "kernels/numerics/index.h"
#include "kernels/numerics/roi.h"
#include "kernels/roi_align/roi_align.h"

QK_INLINE void qk_roi_align_f32(const qk_roi_align_params* p, const float* x, const float* rois,
                                const int64_t* image, float* y) {
  const size_t plane = (size_t)p->height * (size_t)p->width;
  for (int32_t r = 0; r < p->regions; ++r) {
    const size_t first = (size_t)qn_index(image[r], p->batch) * (size_t)p->channels;
    for (int32_t c = 0; c < p->channels; ++c) {
      for (int32_t i = 0; i < p->rows; ++i) {
        for (int32_t j = 0; j < p->columns; ++j) {
          *y++ = qn_roi_align_f32(x + (first + (size_t)c) * plane, p->height, p->width,
                                  rois + 4 * r, p->scale, p->half_pixel, p->ratio, p->largest,
                                  p->rows, p->columns, i, j);
        }
      }
    }
  }
}
