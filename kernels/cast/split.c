/* A unit is an element. */
#include "kernels/common/split.h"

#include "kernels/cast/cast.h"
#include "kernels/cast/operands.h"

QK_SPLIT_ELEMENTS(qk_cast_1_1, qk_cast_params, QK_CAST_IN_X, 1, QK_CAST_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_cast_1_2, qk_cast_params, QK_CAST_IN_X, 1, QK_CAST_OUT_Y, 2)
QK_SPLIT_ELEMENTS(qk_cast_1_4, qk_cast_params, QK_CAST_IN_X, 1, QK_CAST_OUT_Y, 4)
QK_SPLIT_ELEMENTS(qk_cast_1_8, qk_cast_params, QK_CAST_IN_X, 1, QK_CAST_OUT_Y, 8)
QK_SPLIT_ELEMENTS(qk_cast_2_1, qk_cast_params, QK_CAST_IN_X, 2, QK_CAST_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_cast_2_2, qk_cast_params, QK_CAST_IN_X, 2, QK_CAST_OUT_Y, 2)
QK_SPLIT_ELEMENTS(qk_cast_2_4, qk_cast_params, QK_CAST_IN_X, 2, QK_CAST_OUT_Y, 4)
QK_SPLIT_ELEMENTS(qk_cast_2_8, qk_cast_params, QK_CAST_IN_X, 2, QK_CAST_OUT_Y, 8)
QK_SPLIT_ELEMENTS(qk_cast_4_1, qk_cast_params, QK_CAST_IN_X, 4, QK_CAST_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_cast_4_2, qk_cast_params, QK_CAST_IN_X, 4, QK_CAST_OUT_Y, 2)
QK_SPLIT_ELEMENTS(qk_cast_4_4, qk_cast_params, QK_CAST_IN_X, 4, QK_CAST_OUT_Y, 4)
QK_SPLIT_ELEMENTS(qk_cast_4_8, qk_cast_params, QK_CAST_IN_X, 4, QK_CAST_OUT_Y, 8)
QK_SPLIT_ELEMENTS(qk_cast_8_1, qk_cast_params, QK_CAST_IN_X, 8, QK_CAST_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_cast_8_2, qk_cast_params, QK_CAST_IN_X, 8, QK_CAST_OUT_Y, 2)
QK_SPLIT_ELEMENTS(qk_cast_8_4, qk_cast_params, QK_CAST_IN_X, 8, QK_CAST_OUT_Y, 4)
QK_SPLIT_ELEMENTS(qk_cast_8_8, qk_cast_params, QK_CAST_IN_X, 8, QK_CAST_OUT_Y, 8)

QK_SPLIT_ELEMENTS(qk_cast_mode_2, qk_cast_mode_params, QK_CAST_MODE_IN_X, 2, QK_CAST_MODE_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_cast_mode_4, qk_cast_mode_params, QK_CAST_MODE_IN_X, 4, QK_CAST_MODE_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_cast_mode_8, qk_cast_mode_params, QK_CAST_MODE_IN_X, 8, QK_CAST_MODE_OUT_Y, 1)
