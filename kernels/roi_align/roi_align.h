#ifndef QK_ROI_ALIGN_H
#define QK_ROI_ALIGN_H
#include <stdint.h>

/* y [regions, channels, rows, columns] pools regions of x [batch, channels, height, width]; see
 * kernels/numerics/roi.h. An image index outside the batch is clamped. */
typedef struct {
  int32_t batch, channels, height, width, regions, rows, columns, ratio, half_pixel, largest;
  float scale;
} qk_roi_align_params;

#endif
