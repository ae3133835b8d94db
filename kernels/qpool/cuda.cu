/* One unit is one output of one channel. */
#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/cuda.h"
#include "kernels/qpool/mean.h"

#define QK_WITH exact, int32_t, QK_QAVG_OFFSET, QK_QAVG_EXACT
#include "kernels/qpool/cuda.inc"
#define QK_WITH wide, int64_t, QK_QAVG_OFFSET, QK_QAVG_EXACT
#include "kernels/qpool/cuda.inc"
#define QK_WITH ort, float, QK_QAVG_DECODED, QK_QAVG_ORT
#include "kernels/qpool/cuda.inc"
#define QK_WITH f32, float, QK_QAVG_DECODED, QK_QAVG_F32
#include "kernels/qpool/cuda.inc"
#define QK_WITH q31, int64_t, QK_QAVG_OFFSET, QK_QAVG_Q31
#include "kernels/qpool/cuda.inc"
