/* A unit is an element. */
#include "kernels/common/split.h"

#include "kernels/clamp/clamp.h"
#include "kernels/clamp/operands.h"

QK_SPLIT_ELEMENTS(qk_clamp_1, qk_clamp_params, QK_CLAMP_IN_X, 1, QK_CLAMP_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_clamp_2, qk_clamp_params, QK_CLAMP_IN_X, 2, QK_CLAMP_OUT_Y, 2)
QK_SPLIT_ELEMENTS(qk_clamp_4, qk_clamp_params, QK_CLAMP_IN_X, 4, QK_CLAMP_OUT_Y, 4)
QK_SPLIT_ELEMENTS(qk_clamp_8, qk_clamp_params, QK_CLAMP_IN_X, 8, QK_CLAMP_OUT_Y, 8)
QK_SPLIT_ELEMENTS(qk_clamp_to_4, qk_clamp_to_params, QK_CLAMP_TO_IN_X, 4, QK_CLAMP_TO_OUT_Y, 4)
QK_SPLIT_ELEMENTS(qk_clamp_to_8, qk_clamp_to_params, QK_CLAMP_TO_IN_X, 8, QK_CLAMP_TO_OUT_Y, 8)
