#include "kernels/activation/activation.h"
#include "kernels/common/body.h"
#include "kernels/common/ending.h"
#include "kernels/common/inline.h"
#include "kernels/numerics/scalar_ops.h"

#define QK_WITH silu
#include "kernels/activation/body.inc"
#define QK_WITH gelu
#include "kernels/activation/body.inc"
#define QK_WITH gelu_tanh
#include "kernels/activation/body.inc"
#define QK_WITH gelu_quick
#include "kernels/activation/body.inc"
#define QK_WITH sigmoid
#include "kernels/activation/body.inc"
#define QK_WITH tanh
#include "kernels/activation/body.inc"
