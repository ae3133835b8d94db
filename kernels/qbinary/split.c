/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/qbinary/qbinary.h"

QK_SPLIT_BROADCAST2(qk_qbinary, qk_qbinary_params, qk_code_bytes(p->type_a),
                    qk_code_bytes(p->type_b), qk_code_bytes(p->type_y))
