#include "kernels/pool/operands.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/units.h"

QK_SPLIT_POOL(qk_pool_1, qk_pool_params, QK_POOL_IN_X, 1, QK_POOL_OUT_Y, 1)
QK_SPLIT_POOL(qk_pool_2, qk_pool_params, QK_POOL_IN_X, 2, QK_POOL_OUT_Y, 2)
QK_SPLIT_POOL(qk_pool_4, qk_pool_params, QK_POOL_IN_X, 4, QK_POOL_OUT_Y, 4)
QK_SPLIT_POOL(qk_pool_8, qk_pool_params, QK_POOL_IN_X, 8, QK_POOL_OUT_Y, 8)
