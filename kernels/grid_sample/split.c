/* A unit is an image. */
#include "kernels/common/split.h"

#include "kernels/grid_sample/grid_sample.h"
#include "kernels/grid_sample/operands.h"

QK_INLINE int32_t qk_grid_sample_units(const qk_grid_sample_params* p) { return p->batch; }
QK_INLINE int32_t qk_grid_sample_subrange(qk_grid_sample_params* p, const void** in, void** out,
                                          const int32_t* units) {
  const ptrdiff_t plane = (ptrdiff_t)p->size[0] * p->size[1] * p->size[2];
  qk_move(&in[QK_GRID_SAMPLE_IN_X], (ptrdiff_t)units[0] * p->channels * plane * 4);
  qk_move(&in[QK_GRID_SAMPLE_IN_GRID], (ptrdiff_t)units[0] * p->points * p->axes * 4);
  qk_move_result(&out[QK_GRID_SAMPLE_OUT_Y], (ptrdiff_t)units[0] * p->channels * p->points * 4);
  p->batch = units[1] - units[0];
  return units[1];
}
