#include <stddef.h>

#include "kernels/common/body.h"
#include "kernels/common/elementwise.h"
#include "kernels/common/inline.h"
#include "kernels/common/shared.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/reduce/reduce.h"

/* ---- floats: rows, in the order of kernels/numerics/reduce.h ---- */

/* Rows taken together: a line of a cache, or a part of it where rows are so long that the parts of
 * the tree over their blocks would not fit into QK_PARTS. */
#define QK_COLUMNS(T) ((int32_t)(64 / sizeof(T)))
#define QK_PARTS(T) (8 * 64 / sizeof(T))
#define QK_TOGETHER(T, n) \
  (QK_COLUMNS(T) / ((n) <= QN_BLOCK << 8 ? 1 : (n) <= QN_BLOCK << 16 ? 2 : 4))

#define QK_STEP_EXP_F32(a, e, q) ((a) + qn_exp_f32((e) - (q)))
#define QK_STEP_EXP_F64(a, e, q) ((a) + qn_exp_f64((e) - (q)))
#define QK_WITH f32, float, float, f32, F32, QK_SAME
#include "kernels/reduce/float_rows.inc"
#define QK_WITH f64, double, double, f64, F64, QK_SAME
#include "kernels/reduce/float_rows.inc"
#define QK_WITH f16, uint16_t, float, f32, F32, qn_f16_to_f32
#include "kernels/reduce/float_rows.inc"
#define QK_WITH bf16, uint16_t, float, f32, F32, qn_bf16_to_f32
#include "kernels/reduce/float_rows.inc"

/* ---- floats: all rows, in one pass or two ---- */

#define QK_PASS_NONE(fn, s, call)
#define QK_PASS_SUM(fn, s, call) QK_JOIN3(fn, sum_, s) call
#define QK_PASS_MAX(fn, s, call) QK_JOIN3(fn, max_, s) call
#define QK_MID_NONE(t, q) (q)
#define QK_MID_MEAN(t, q) ((q) / n)
/* An infinite maximum would make infinity minus infinity of it. */
#define QK_MID_FINITE(t, q) (QK_JOIN(qn_isinf_, t)(q) ? 0 : (q))
#define QK_FINISH_NONE(t, v, q) (v)
#define QK_FINISH_MEAN(t, v, q) ((v) / n)
#define QK_FINISH_SQRT(t, v, q) QK_JOIN(qn_sqrt_, t)(v)
#define QK_FINISH_LOG(t, v, q) QK_JOIN(qn_log_, t)(v)
#define QK_FINISH_LOG_ADD(t, v, q) (QK_JOIN(qn_log_, t)(v) + (q))
#define QK_FINISH_VAR(t, v, q) ((v) / (n > correction ? n - correction : 0))
#define QK_FINISH_STD(t, v, q) QK_JOIN(qn_sqrt_, t)(QK_FINISH_VAR(t, v, q))

#define QK_WITH f32, float, float, f32, QK_SAME
#include "kernels/reduce/float_kernels.inc"
#define QK_WITH f64, double, double, f64, QK_SAME
#include "kernels/reduce/float_kernels.inc"
#define QK_WITH f16, uint16_t, float, f32, qn_f16_from_f32
#include "kernels/reduce/float_kernels.inc"
#define QK_WITH bf16, uint16_t, float, f32, qn_bf16_from_f32
#include "kernels/reduce/float_kernels.inc"

/* ---- integers and bool: exact, so the order is free ---- */

#define QK_EXACT_RESULT(v, n) (v)
#define QK_WITH i8, int8_t, INT8_MIN, INT8_MAX
#include "kernels/reduce/int_kernels.inc"
#define QK_WITH i16, int16_t, INT16_MIN, INT16_MAX
#include "kernels/reduce/int_kernels.inc"
#define QK_WITH i32, int32_t, INT32_MIN, INT32_MAX
#include "kernels/reduce/int_kernels.inc"
#define QK_WITH i64, int64_t, INT64_MIN, INT64_MAX
#include "kernels/reduce/int_kernels.inc"
#define QK_WITH u8, uint8_t, 0, UINT8_MAX
#include "kernels/reduce/int_kernels.inc"
#define QK_WITH u16, uint16_t, 0, UINT16_MAX
#include "kernels/reduce/int_kernels.inc"
#define QK_WITH u32, uint32_t, 0, UINT32_MAX
#include "kernels/reduce/int_kernels.inc"
#define QK_WITH u64, uint64_t, 0, UINT64_MAX
#include "kernels/reduce/int_kernels.inc"
#define QK_WITH bool, uint8_t
#include "kernels/reduce/bool_kernels.inc"
