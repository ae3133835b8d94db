/* One unit is one output of one channel, or of sixteen neighbouring ones where codes of 8 bits lie
 * channels-last. */
#include <string.h>

#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/numerics/base.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/walk.h"

#define QK_POOL_LARGER(a, b) ((a) > (b) ? (a) : (b))

#define QK_WITH f32, float, qn_max_f32, -QN_INF_F32, 1
#include "kernels/pool/cuda.inc"
#define QK_WITH i8, int8_t, QK_POOL_LARGER, INT8_MIN, 16
#include "kernels/pool/cuda.inc"
#define QK_WITH u8, uint8_t, QK_POOL_LARGER, 0, 16
#include "kernels/pool/cuda.inc"
#define QK_WITH i16, int16_t, QK_POOL_LARGER, INT16_MIN, 1
#include "kernels/pool/cuda.inc"
#define QK_WITH u16, uint16_t, QK_POOL_LARGER, 0, 1
#include "kernels/pool/cuda.inc"
