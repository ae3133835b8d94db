#include "kernels/pool/pool.h"
#include "kernels/pool/units.h"

QK_SPLIT_POOL(qk_pool_1, qk_pool_params, 1, 1)
QK_SPLIT_POOL(qk_pool_2, qk_pool_params, 2, 2)
QK_SPLIT_POOL(qk_pool_4, qk_pool_params, 4, 4)
QK_SPLIT_POOL(qk_pool_8, qk_pool_params, 8, 8)
