/* One unit is a block of what is transposed: kernels/quantize/transpose.h. */
#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/numerics/quant.h"
#include "kernels/quantize/transpose.h"

#define QK_WITH i8, int8_t
#include "kernels/quantize/cuda.inc"
#define QK_WITH u8, uint8_t
#include "kernels/quantize/cuda.inc"
#define QK_WITH i16, int16_t
#include "kernels/quantize/cuda.inc"
#define QK_WITH u16, uint16_t
#include "kernels/quantize/cuda.inc"
