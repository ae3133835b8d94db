/* A unit is an element. */
#include "kernels/common/split.h"

#include "kernels/unary/operands.h"
#include "kernels/unary/unary.h"

QK_SPLIT_ELEMENTS(qk_unary_1, qk_unary_params, QK_UNARY_IN_X, 1, QK_UNARY_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_unary_2, qk_unary_params, QK_UNARY_IN_X, 2, QK_UNARY_OUT_Y, 2)
QK_SPLIT_ELEMENTS(qk_unary_4, qk_unary_params, QK_UNARY_IN_X, 4, QK_UNARY_OUT_Y, 4)
QK_SPLIT_ELEMENTS(qk_unary_8, qk_unary_params, QK_UNARY_IN_X, 8, QK_UNARY_OUT_Y, 8)
QK_SPLIT_ELEMENTS(qk_predicate_2, qk_unary_params, QK_UNARY_IN_X, 2, QK_UNARY_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_predicate_4, qk_unary_params, QK_UNARY_IN_X, 4, QK_UNARY_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_predicate_8, qk_unary_params, QK_UNARY_IN_X, 8, QK_UNARY_OUT_Y, 1)
QK_SPLIT_ELEMENTS(qk_unary_scaled_2, qk_unary_scaled_params, QK_UNARY_SCALED_IN_X, 2,
                  QK_UNARY_SCALED_OUT_Y, 2)
QK_SPLIT_ELEMENTS(qk_unary_scaled_4, qk_unary_scaled_params, QK_UNARY_SCALED_IN_X, 4,
                  QK_UNARY_SCALED_OUT_Y, 4)
