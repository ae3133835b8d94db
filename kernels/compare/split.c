/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/compare/compare.h"

QK_SPLIT_BROADCAST2(qk_compare_1, qk_broadcast2_params, 1, 1, 1)
QK_SPLIT_BROADCAST2(qk_compare_2, qk_broadcast2_params, 2, 2, 1)
QK_SPLIT_BROADCAST2(qk_compare_4, qk_broadcast2_params, 4, 4, 1)
QK_SPLIT_BROADCAST2(qk_compare_8, qk_broadcast2_params, 8, 8, 1)
