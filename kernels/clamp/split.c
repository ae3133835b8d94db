/* A unit is an element. */
#include "kernels/common/split.h"

#include "kernels/clamp/clamp.h"

QK_SPLIT_ELEMENTS(qk_clamp_1, qk_clamp_params, 1, 1)
QK_SPLIT_ELEMENTS(qk_clamp_2, qk_clamp_params, 2, 2)
QK_SPLIT_ELEMENTS(qk_clamp_4, qk_clamp_params, 4, 4)
QK_SPLIT_ELEMENTS(qk_clamp_8, qk_clamp_params, 8, 8)
QK_SPLIT_ELEMENTS(qk_clamp_to_4, qk_clamp_to_params, 4, 4)
QK_SPLIT_ELEMENTS(qk_clamp_to_8, qk_clamp_to_params, 8, 8)
