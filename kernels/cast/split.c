/* A unit is an element. */
#include "kernels/common/split.h"

#include "kernels/cast/cast.h"

QK_SPLIT_ELEMENTS(qk_cast_1_1, qk_cast_params, 1, 1)
QK_SPLIT_ELEMENTS(qk_cast_1_2, qk_cast_params, 1, 2)
QK_SPLIT_ELEMENTS(qk_cast_1_4, qk_cast_params, 1, 4)
QK_SPLIT_ELEMENTS(qk_cast_1_8, qk_cast_params, 1, 8)
QK_SPLIT_ELEMENTS(qk_cast_2_1, qk_cast_params, 2, 1)
QK_SPLIT_ELEMENTS(qk_cast_2_2, qk_cast_params, 2, 2)
QK_SPLIT_ELEMENTS(qk_cast_2_4, qk_cast_params, 2, 4)
QK_SPLIT_ELEMENTS(qk_cast_2_8, qk_cast_params, 2, 8)
QK_SPLIT_ELEMENTS(qk_cast_4_1, qk_cast_params, 4, 1)
QK_SPLIT_ELEMENTS(qk_cast_4_2, qk_cast_params, 4, 2)
QK_SPLIT_ELEMENTS(qk_cast_4_4, qk_cast_params, 4, 4)
QK_SPLIT_ELEMENTS(qk_cast_4_8, qk_cast_params, 4, 8)
QK_SPLIT_ELEMENTS(qk_cast_8_1, qk_cast_params, 8, 1)
QK_SPLIT_ELEMENTS(qk_cast_8_2, qk_cast_params, 8, 2)
QK_SPLIT_ELEMENTS(qk_cast_8_4, qk_cast_params, 8, 4)
QK_SPLIT_ELEMENTS(qk_cast_8_8, qk_cast_params, 8, 8)

QK_SPLIT_ELEMENTS(qk_cast_mode_2, qk_cast_mode_params, 2, 1)
QK_SPLIT_ELEMENTS(qk_cast_mode_4, qk_cast_mode_params, 4, 1)
QK_SPLIT_ELEMENTS(qk_cast_mode_8, qk_cast_mode_params, 8, 1)
