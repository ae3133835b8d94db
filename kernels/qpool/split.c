#include "kernels/pool/units.h"
#include "kernels/qpool/qpool.h"

QK_SPLIT_POOL(qk_qpool, qk_qpool_params, qk_code_bytes(p->type_x), qk_code_bytes(p->type_y))
