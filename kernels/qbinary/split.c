/* A unit is an element of the result. */
#include "kernels/common/split.h"

#include "kernels/qbinary/operands.h"
#include "kernels/qbinary/qbinary.h"

QK_SPLIT_BROADCAST2(qk_qbinary, qk_qbinary_params, QK_QBINARY_IN_LHS, qk_code_bytes(p->type_a),
                    QK_QBINARY_IN_RHS, qk_code_bytes(p->type_b), QK_QBINARY_OUT_Y,
                    qk_code_bytes(p->type_y))
