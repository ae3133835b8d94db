#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/where/where.h"

#define QK_WITH f32, float
#include "kernels/where/body.inc"
#define QK_WITH f64, double
#include "kernels/where/body.inc"
#define QK_WITH u8, uint8_t
#include "kernels/where/body.inc"
#define QK_WITH u16, uint16_t
#include "kernels/where/body.inc"
#define QK_WITH u32, uint32_t
#include "kernels/where/body.inc"
#define QK_WITH u64, uint64_t
#include "kernels/where/body.inc"
