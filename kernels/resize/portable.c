#include <stddef.h>

#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/base.h"
#include "kernels/resize/resize.h"

#define QK_WITH f32, float, qn_fmaf
#include "kernels/resize/body.inc"
#define QK_WITH f64, double, qn_fma
#include "kernels/resize/body.inc"
