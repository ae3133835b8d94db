/* A unit is an element. */
#include "kernels/common/split.h"

#include "kernels/unary/unary.h"

QK_SPLIT_ELEMENTS(qk_unary_1, qk_unary_params, 1, 1)
QK_SPLIT_ELEMENTS(qk_unary_2, qk_unary_params, 2, 2)
QK_SPLIT_ELEMENTS(qk_unary_4, qk_unary_params, 4, 4)
QK_SPLIT_ELEMENTS(qk_unary_8, qk_unary_params, 8, 8)
QK_SPLIT_ELEMENTS(qk_predicate_2, qk_unary_params, 2, 1)
QK_SPLIT_ELEMENTS(qk_predicate_4, qk_unary_params, 4, 1)
QK_SPLIT_ELEMENTS(qk_predicate_8, qk_unary_params, 8, 1)
QK_SPLIT_ELEMENTS(qk_unary_scaled_2, qk_unary_scaled_params, 2, 2)
QK_SPLIT_ELEMENTS(qk_unary_scaled_4, qk_unary_scaled_params, 4, 4)
