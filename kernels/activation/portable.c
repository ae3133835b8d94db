#include "kernels/activation/activation.h"
#include "kernels/activation/gelu.h"
#include "kernels/activation/gelu_codes.h"
#include "kernels/common/body.h"
#include "kernels/common/inline.h"
#include "kernels/common/quantize_epilogue.h"
#include "kernels/numerics/scalar_ops.h"

#define QK_WITH qk_silu_row, qn_silu_f32
#include "kernels/activation/row.inc"
#define QK_WITH qk_gelu_tanh_row, qn_gelu_tanh_f32
#include "kernels/activation/row.inc"
#define QK_WITH qk_gelu_quick_row, qn_gelu_quick_f32
#include "kernels/activation/row.inc"
#define QK_WITH qk_sigmoid_row, qn_sigmoid_f32
#include "kernels/activation/row.inc"
#define QK_WITH qk_tanh_row, qn_tanh_f32
#include "kernels/activation/row.inc"
#define QK_WITH qk_relu_row, qn_relu_f32
#include "kernels/activation/row.inc"

/* Codes are made row by row. */
#define QK_BY_ROWS(e, x, rows, n, stride) 0

#define QK_WITH silu, qk_silu_row, QK_BY_ROWS
#include "kernels/activation/body.inc"
#define QK_WITH gelu, qk_gelu_row, QK_GELU_TENSOR
#include "kernels/activation/body.inc"
#define QK_WITH gelu_tanh, qk_gelu_tanh_row, QK_BY_ROWS
#include "kernels/activation/body.inc"
#define QK_WITH gelu_quick, qk_gelu_quick_row, QK_BY_ROWS
#include "kernels/activation/body.inc"
#define QK_WITH sigmoid, qk_sigmoid_row, QK_BY_ROWS
#include "kernels/activation/body.inc"
#define QK_WITH tanh, qk_tanh_row, QK_BY_ROWS
#include "kernels/activation/body.inc"
#define QK_WITH relu, qk_relu_row, QK_BY_ROWS
#include "kernels/activation/body.inc"
