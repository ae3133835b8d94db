/* Endings (kernels/common/ending.h) of rows that blocks of threads compute, of a scale for each row
 * or of known ones. With one scale for all (QK_PER_TENSOR) floats are stored instead, and the range
 * of each unit's rows; kernels/quantize/team.cu makes codes of them. */
#ifndef QK_TEAM_ENDING_H
#define QK_TEAM_ENDING_H

#include "kernels/common/modes.h"
#include "kernels/common/team.h"

/* Where the scale of element `at` of the result is. */
#define QK_TEAM_SCALE_AT(p, at)                                       \
  ((at) / (p)->e_inner / (p)->e_axis * (p)->e_s_outer +               \
   (at) / (p)->e_inner % (p)->e_axis / (p)->e_group * (p)->e_s_axis + \
   (at) % (p)->e_inner * (p)->e_s_inner)

QK_UNIT void qk_team_store(int32_t size, void* y, int64_t at, int32_t code) {
  if (size == 1) {
    ((uint8_t*)y)[at] = (uint8_t)code;
  } else {
    ((uint16_t*)y)[at] = (uint16_t)code;
  }
}
QK_UNIT int32_t qk_team_code(float x, float scale, int32_t zero, int32_t reciprocal, int32_t lo,
                             int32_t hi) {
  return qn_code(reciprocal ? qn_mulf(x, scale) : x / scale, zero, lo, hi);
}

#endif
