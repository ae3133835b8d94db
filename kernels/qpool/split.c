#include "kernels/pool/units.h"
#include "kernels/qpool/operands.h"
#include "kernels/qpool/qpool.h"

QK_SPLIT_POOL(qk_qpool, qk_qpool_params, QK_QPOOL_IN_X, qk_code_bytes(p->type_x), QK_QPOOL_OUT_Y,
              qk_code_bytes(p->type_y))
