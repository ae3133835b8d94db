#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/half.h"
#include "kernels/rotary/rotary.h"

#define QK_FMA_f32 qn_fmaf
#define QK_FMA_f64 qn_fma

#define QK_WITH f32, float, float, f32, QK_SAME, QK_SAME
#include "kernels/rotary/body.inc"
#define QK_WITH f64, double, double, f64, QK_SAME, QK_SAME
#include "kernels/rotary/body.inc"
#define QK_WITH f16, uint16_t, float, f32, qn_f16_to_f32, qn_f16_from_f32
#include "kernels/rotary/body.inc"
#define QK_WITH bf16, uint16_t, float, f32, qn_bf16_to_f32, qn_bf16_from_f32
#include "kernels/rotary/body.inc"

#undef QK_FMA_f32
#undef QK_FMA_f64
