/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/binary/binary.h"
#include "kernels/binary/operands.h"

QK_SPLIT_BROADCAST2(qk_binary_1, qk_broadcast2_params, QK_BINARY_IN_LHS, 1, QK_BINARY_IN_RHS, 1,
                    QK_BINARY_OUT_Y, 1)
QK_SPLIT_BROADCAST2(qk_binary_2, qk_broadcast2_params, QK_BINARY_IN_LHS, 2, QK_BINARY_IN_RHS, 2,
                    QK_BINARY_OUT_Y, 2)
QK_SPLIT_BROADCAST2(qk_binary_4, qk_broadcast2_params, QK_BINARY_IN_LHS, 4, QK_BINARY_IN_RHS, 4,
                    QK_BINARY_OUT_Y, 4)
QK_SPLIT_BROADCAST2(qk_binary_8, qk_broadcast2_params, QK_BINARY_IN_LHS, 8, QK_BINARY_IN_RHS, 8,
                    QK_BINARY_OUT_Y, 8)
QK_SPLIT_BROADCAST2(qk_binary_clamp, qk_broadcast2_clamp_params, QK_BINARY_CLAMP_IN_LHS, 4,
                    QK_BINARY_CLAMP_IN_RHS, 4, QK_BINARY_CLAMP_OUT_Y, 4)
