/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/compare/compare.h"
#include "kernels/compare/operands.h"

QK_SPLIT_BROADCAST2(qk_compare_1, qk_broadcast2_params, QK_COMPARE_IN_LHS, 1, QK_COMPARE_IN_RHS, 1,
                    QK_COMPARE_OUT_Y, 1)
QK_SPLIT_BROADCAST2(qk_compare_2, qk_broadcast2_params, QK_COMPARE_IN_LHS, 2, QK_COMPARE_IN_RHS, 2,
                    QK_COMPARE_OUT_Y, 1)
QK_SPLIT_BROADCAST2(qk_compare_4, qk_broadcast2_params, QK_COMPARE_IN_LHS, 4, QK_COMPARE_IN_RHS, 4,
                    QK_COMPARE_OUT_Y, 1)
QK_SPLIT_BROADCAST2(qk_compare_8, qk_broadcast2_params, QK_COMPARE_IN_LHS, 8, QK_COMPARE_IN_RHS, 8,
                    QK_COMPARE_OUT_Y, 1)
