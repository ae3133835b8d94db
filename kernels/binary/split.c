/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/binary/binary.h"

QK_SPLIT_BROADCAST2(qk_binary_1, qk_broadcast2_params, 1, 1, 1)
QK_SPLIT_BROADCAST2(qk_binary_2, qk_broadcast2_params, 2, 2, 2)
QK_SPLIT_BROADCAST2(qk_binary_4, qk_broadcast2_params, 4, 4, 4)
QK_SPLIT_BROADCAST2(qk_binary_8, qk_broadcast2_params, 8, 8, 8)
QK_SPLIT_BROADCAST2(qk_binary_clamp, qk_broadcast2_clamp_params, 4, 4, 4)
