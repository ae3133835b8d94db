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

#define QN_LANES 16
#define QN_BLOCK 1024
#define QN_LEVELS 24 /* of the tree over blocks, so rows have less than 2^34 elements */

/* gcc unrolls a loop over the lanes before it looks for vectors, and then finds none in selects;
 * clang unrolls after it, and what is no vector then takes a place on the stack per lane. */
#if defined(__clang__)
#define QN_KEEP_LOOP _Pragma("clang loop unroll_count(4)")
#elif defined(__GNUC__)
#define QN_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define QN_KEEP_LOOP
#endif

/* Defines T fn_lanes(const S* x, int64_t n, int64_t stride, T p), one block: the lanes start at
 * `start`, take elements with step(lane, LOAD(element), p), and fold with join(low, high). */
#define QN_DEFINE_LANES(fn, S, T, LOAD, start, step, join)                              \
  QN_FN T fn##_lanes(const S* x, int64_t n, int64_t stride, T p) {                      \
    T lane[QN_LANES];                                                                   \
    int64_t steps = n / QN_LANES;                                                       \
    const int rest = (int)(n % QN_LANES);                                               \
    int j, half;                                                                        \
    (void)p;                                                                            \
    for (j = 0; j < QN_LANES; ++j) lane[j] = (start);                                   \
    if (stride == 1) {                                                                  \
      for (; steps > 0; --steps, x += QN_LANES) {                                       \
        QN_KEEP_LOOP                                                                    \
        for (j = 0; j < QN_LANES; ++j) lane[j] = step(lane[j], LOAD(x[j]), p);          \
      }                                                                                 \
    } else {                                                                            \
      for (; steps > 0; --steps, x += QN_LANES * stride) {                              \
        QN_KEEP_LOOP                                                                    \
        for (j = 0; j < QN_LANES; ++j) lane[j] = step(lane[j], LOAD(x[j * stride]), p); \
      }                                                                                 \
    }                                                                                   \
    for (j = 0; j < rest; ++j) lane[j] = step(lane[j], LOAD(x[j * stride]), p);         \
    for (half = QN_LANES / 2; half > 0; half /= 2)                                      \
      for (j = 0; j < half; ++j) lane[j] = join(lane[j], lane[j + half]);               \
    return lane[0];                                                                     \
  }

/* Also T fn(const S* x, int64_t n, int64_t stride, T p), a whole row. Of the tree over blocks only
 * the finished left parts are held: block b joins those of the levels that end with it. */
#define QN_DEFINE_REDUCE(fn, S, T, LOAD, start, step, join)              \
  QN_DEFINE_LANES(fn, S, T, LOAD, start, step, join)                     \
  QN_FN T fn(const S* x, int64_t n, int64_t stride, T p) {               \
    T part[QN_LEVELS], v;                                                \
    int64_t b;                                                           \
    int level;                                                           \
    if (n <= QN_BLOCK) return fn##_lanes(x, n, stride, p);               \
    for (b = 0;; ++b, n -= QN_BLOCK, x += QN_BLOCK * stride) {           \
      v = fn##_lanes(x, n < QN_BLOCK ? n : QN_BLOCK, stride, p);         \
      for (level = 0; b >> level & 1; ++level) v = join(part[level], v); \
      if (n <= QN_BLOCK) break;                                          \
      part[level] = v;                                                   \
    }                                                                    \
    while (b >> ++level)                                                 \
      if (b >> level & 1) v = join(part[level], v);                      \
    return v;                                                            \
  }

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

QN_DEFINE_REDUCE(qn_reduce_sum_f32, float, float, QN_SAME, 0.0f, QN_STEP_ADD, QN_JOIN_ADD)
QN_DEFINE_REDUCE(qn_reduce_sum_f64, double, double, QN_SAME, 0.0, QN_STEP_ADD, QN_JOIN_ADD)
QN_DEFINE_REDUCE(qn_reduce_abs_f32, float, float, QN_SAME, 0.0f, QN_STEP_ADD_ABS_F32, QN_JOIN_ADD)
QN_DEFINE_REDUCE(qn_reduce_abs_f64, double, double, QN_SAME, 0.0, QN_STEP_ADD_ABS_F64, QN_JOIN_ADD)
QN_DEFINE_REDUCE(qn_reduce_square_f32, float, float, QN_SAME, 0.0f, QN_STEP_SQUARE_F32, QN_JOIN_ADD)
QN_DEFINE_REDUCE(qn_reduce_square_f64, double, double, QN_SAME, 0.0, QN_STEP_SQUARE_F64,
                 QN_JOIN_ADD)
QN_DEFINE_REDUCE(qn_reduce_deviation_f32, float, float, QN_SAME, 0.0f, QN_STEP_DEVIATION_F32,
                 QN_JOIN_ADD)
QN_DEFINE_REDUCE(qn_reduce_deviation_f64, double, double, QN_SAME, 0.0, QN_STEP_DEVIATION_F64,
                 QN_JOIN_ADD)
QN_DEFINE_REDUCE(qn_reduce_product_f32, float, float, QN_SAME, 1.0f, QN_STEP_MUL_F32, qn_mulf)
QN_DEFINE_REDUCE(qn_reduce_product_f64, double, double, QN_SAME, 1.0, QN_STEP_MUL_F64, qn_mul)
QN_DEFINE_REDUCE(qn_reduce_max_f32, float, float, QN_SAME, -QN_INF_F32, QN_STEP_MAX_F32, qn_max_f32)
QN_DEFINE_REDUCE(qn_reduce_max_f64, double, double, QN_SAME, -QN_INF_F64, QN_STEP_MAX_F64,
                 qn_max_f64)
QN_DEFINE_REDUCE(qn_reduce_min_f32, float, float, QN_SAME, QN_INF_F32, QN_STEP_MIN_F32, qn_min_f32)
QN_DEFINE_REDUCE(qn_reduce_min_f64, double, double, QN_SAME, QN_INF_F64, QN_STEP_MIN_F64,
                 qn_min_f64)

#define QN_DEFINE_ROW(T, t)                                                  \
  /* The sum; 0 of nothing. */                                               \
  QN_FN T qn_sum_##t(const T* x, int64_t n, int64_t stride) {                \
    return qn_reduce_sum_##t(x, n, stride, 0);                               \
  }                                                                          \
  /* The sum of magnitudes. */                                               \
  QN_FN T qn_sum_abs_##t(const T* x, int64_t n, int64_t stride) {            \
    return qn_reduce_abs_##t(x, n, stride, 0);                               \
  }                                                                          \
  /* The sum of squares, by fma. */                                          \
  QN_FN T qn_sum_sq_##t(const T* x, int64_t n, int64_t stride) {             \
    return qn_reduce_square_##t(x, n, stride, 0);                            \
  }                                                                          \
  /* The sum of (x - mean)^2, by fma. */                                     \
  QN_FN T qn_sum_sq_dev_##t(const T* x, int64_t n, int64_t stride, T mean) { \
    return qn_reduce_deviation_##t(x, n, stride, mean);                      \
  }                                                                          \
  /* The product; 1 of nothing. */                                           \
  QN_FN T qn_prod_##t(const T* x, int64_t n, int64_t stride) {               \
    return qn_reduce_product_##t(x, n, stride, 1);                           \
  }                                                                          \
  /* The largest element, NaN if there is one; -inf of nothing. */           \
  QN_FN T qn_row_max_##t(const T* x, int64_t n, int64_t stride) {            \
    return qn_reduce_max_##t(x, n, stride, 0);                               \
  }                                                                          \
  /* The smallest element, NaN if there is one; +inf of nothing. */          \
  QN_FN T qn_row_min_##t(const T* x, int64_t n, int64_t stride) {            \
    return qn_reduce_min_##t(x, n, stride, 0);                               \
  }                                                                          \
  /* The sum divided by n; NaN of nothing. */                                \
  QN_FN T qn_mean_##t(const T* x, int64_t n, int64_t stride) {               \
    return qn_reduce_sum_##t(x, n, stride, 0) / (T)n;                        \
  }

QN_DEFINE_ROW(float, f32)
QN_DEFINE_ROW(double, f64)

/* start + a . b: one accumulator, k ascending, an fma each step. */
QN_FN float qn_dot_f32(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                       int64_t n, float start) {
  float acc = start;
  int64_t k;
  for (k = 0; k < n; ++k) acc = qn_fmaf(a[k * a_stride], b[k * b_stride], acc);
  return acc;
}
QN_FN double qn_dot_f64(const double* a, int64_t a_stride, const double* b, int64_t b_stride,
                        int64_t n, double start) {
  double acc = start;
  int64_t k;
  for (k = 0; k < n; ++k) acc = qn_fma(a[k * a_stride], b[k * b_stride], acc);
  return acc;
}

#endif /* QN_REDUCE_H */
