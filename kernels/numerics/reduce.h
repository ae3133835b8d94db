/* Row reductions with a fixed order, in which an element's place depends on its index alone.
 *
 * A row is cut into blocks of 1024 elements. A block has 16 lanes, element i in lane i mod 16 in
 * ascending order, then a tree that folds the upper half of the lanes onto the lower one (8, 4, 2,
 * 1). Blocks are joined by a tree whose nodes cover aligned powers of two: block 2k with 2k + 1,
 * then pairs of those, and so on; a node without a right part is its left part. So neutral elements
 * after the end change no bit, any vector width and any number of threads can compute a row, and
 * the error of a sum of n elements grows with log n.
 */
#ifndef QN_REDUCE_H
#define QN_REDUCE_H

#include "base.h"
#include "kernels/common/body.h"

#define QN_LANES 16
#define QN_BLOCK 1024
#define QN_LEVELS 24 /* of the tree over blocks, so rows have less than 2^34 elements */

/* gcc unrolls a loop over the lanes before it looks for vectors, and then finds none in selects;
 * clang unrolls after it, and what is no vector then takes a place on the stack per lane. */
#if defined(__CUDA_ARCH__)
#define QN_KEEP_LOOP _Pragma("unroll")
#elif defined(__CUDACC__)
#define QN_KEEP_LOOP
#elif defined(__clang__)
#define QN_KEEP_LOOP _Pragma("clang loop unroll_count(4)")
#elif defined(__GNUC__)
#define QN_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define QN_KEEP_LOOP
#endif

#define QN_SAME(v) (v)
#define QN_STEP_ADD(a, e, p) ((a) + (e))
#define QN_STEP_ADD_ABS_F32(a, e, p) ((a) + qn_abs_f32(e))
#define QN_STEP_ADD_ABS_F64(a, e, p) ((a) + qn_abs_f64(e))
#define QN_STEP_SQUARE_F32(a, e, p) qn_fmaf((e), (e), (a))
#define QN_STEP_SQUARE_F64(a, e, p) qn_fma((e), (e), (a))
#define QN_STEP_DEVIATION_F32(a, e, p) qn_fmaf((e) - (p), (e) - (p), (a))
#define QN_STEP_DEVIATION_F64(a, e, p) qn_fma((e) - (p), (e) - (p), (a))
#define QN_STEP_MUL_F32(a, e, p) qn_mulf((a), (e))
#define QN_STEP_MUL_F64(a, e, p) qn_mul((a), (e))
#define QN_STEP_MAX_F32(a, e, p) qn_max_f32((a), (e))
#define QN_STEP_MAX_F64(a, e, p) qn_max_f64((a), (e))
#define QN_STEP_MIN_F32(a, e, p) qn_min_f32((a), (e))
#define QN_STEP_MIN_F64(a, e, p) qn_min_f64((a), (e))
#define QN_JOIN_ADD(a, b) ((a) + (b))

#define QK_WITH qn_reduce_sum_f32, float, float, QN_SAME, 0.0f, QN_STEP_ADD, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_sum_f64, double, double, QN_SAME, 0.0, QN_STEP_ADD, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_abs_f32, float, float, QN_SAME, 0.0f, QN_STEP_ADD_ABS_F32, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_abs_f64, double, double, QN_SAME, 0.0, QN_STEP_ADD_ABS_F64, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_square_f32, float, float, QN_SAME, 0.0f, QN_STEP_SQUARE_F32, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_square_f64, double, double, QN_SAME, 0.0, QN_STEP_SQUARE_F64, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH \
  qn_reduce_deviation_f32, float, float, QN_SAME, 0.0f, QN_STEP_DEVIATION_F32, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH \
  qn_reduce_deviation_f64, double, double, QN_SAME, 0.0, QN_STEP_DEVIATION_F64, QN_JOIN_ADD
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_product_f32, float, float, QN_SAME, 1.0f, QN_STEP_MUL_F32, qn_mulf
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_product_f64, double, double, QN_SAME, 1.0, QN_STEP_MUL_F64, qn_mul
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_max_f32, float, float, QN_SAME, -QN_INF_F32, QN_STEP_MAX_F32, qn_max_f32
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_max_f64, double, double, QN_SAME, -QN_INF_F64, QN_STEP_MAX_F64, qn_max_f64
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_min_f32, float, float, QN_SAME, QN_INF_F32, QN_STEP_MIN_F32, qn_min_f32
#include "kernels/numerics/reduce.inc"
#define QK_WITH qn_reduce_min_f64, double, double, QN_SAME, QN_INF_F64, QN_STEP_MIN_F64, qn_min_f64
#include "kernels/numerics/reduce.inc"

#define QK_WITH float, f32
#include "kernels/numerics/row.inc"
#define QK_WITH double, f64
#include "kernels/numerics/row.inc"

#endif /* QN_REDUCE_H */
