/* A unit is a region. */
#include "kernels/common/split.h"

#include "kernels/roi_align/operands.h"
#include "kernels/roi_align/roi_align.h"

QK_INLINE int32_t qk_roi_align_units(const qk_roi_align_params* p) { return p->regions; }
QK_INLINE int32_t qk_roi_align_subrange(qk_roi_align_params* p, const void** in, void** out,
                                        const int32_t* units) {
  qk_move(&in[QK_ROI_ALIGN_IN_ROIS], (ptrdiff_t)units[0] * 16);
  qk_move(&in[QK_ROI_ALIGN_IN_IMAGES], (ptrdiff_t)units[0] * 8);
  qk_move_result(&out[QK_ROI_ALIGN_OUT_Y],
                 (ptrdiff_t)units[0] * p->channels * p->rows * p->columns * 4);
  p->regions = units[1] - units[0];
  return units[1];
}
