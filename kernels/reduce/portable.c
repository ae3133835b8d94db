#include <stddef.h>

#include "kernels/common/elementwise.h"
#include "kernels/common/inline.h"
#include "kernels/common/shared.h"
#include "kernels/numerics/half.h"
#include "kernels/numerics/reduce.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/reduce/reduce.h"

/* ---- one row, and rows that lie side by side, in the order of kernels/numerics/reduce.h ----
 *
 * All take elements with STEP(lane, element, q) and fold with JOIN, so a row gives the same bits
 * whichever way it is read. q is the value of an earlier pass. */

/* Rows taken together: a line of a cache, or a part of it where rows are so long that the parts of
 * the tree over their blocks would not fit into QK_PARTS. */
#define QK_COLUMNS(T) ((int32_t)(64 / sizeof(T)))
#define QK_PARTS(T) (8 * 64 / sizeof(T))
#define QK_TOGETHER(T, n) \
  (QK_COLUMNS(T) / ((n) <= QN_BLOCK << 8 ? 1 : (n) <= QN_BLOCK << 16 ? 2 : 4))

/* A row over several axes. */
#define QK_DEFINE_WALK(step, s, S, T, LOAD, START, STEP, JOIN)                       \
  QK_INLINE T qk_walk_##step##_##s(const qk_reduce_params* p, const S* x, T q) {     \
    const int32_t last = p->inner_rank - 1;                                          \
    T lane[QN_LANES], part[QN_LEVELS];                                               \
    int32_t index[8] = {0}, left = 1, b, i, j, d, level, half;                       \
    (void)q;                                                                         \
    for (d = 0; d <= last; ++d) left *= p->inner_dims[d];                            \
    for (b = 0;; ++b, left -= QN_BLOCK) {                                            \
      for (j = 0; j < QN_LANES; ++j) lane[j] = (START);                              \
      for (i = 0; i < QN_BLOCK && i < left; ++i) {                                   \
        lane[i % QN_LANES] = STEP(lane[i % QN_LANES], LOAD(*x), q);                  \
        for (d = last; d > 0 && ++index[d] == p->inner_dims[d]; --d) {               \
          index[d] = 0;                                                              \
          x -= (p->inner_dims[d] - 1) * p->inner_strides[d];                         \
        }                                                                            \
        if (i + 1 < left) x += p->inner_strides[d];                                  \
      }                                                                              \
      for (half = QN_LANES / 2; half > 0; half /= 2)                                 \
        for (j = 0; j < half; ++j) lane[j] = JOIN(lane[j], lane[j + half]);          \
      for (level = 0; b >> level & 1; ++level) lane[0] = JOIN(part[level], lane[0]); \
      if (left <= QN_BLOCK) break;                                                   \
      part[level] = lane[0];                                                         \
    }                                                                                \
    while (b >> ++level)                                                             \
      if (b >> level & 1) lane[0] = JOIN(part[level], lane[0]);                      \
    return lane[0];                                                                  \
  }

/* Rows side by side. One lane of all rows is summed after the other, in the order in which the tree
 * joins them: a few lanes are held instead of 16. */
#define QK_DEFINE_COLUMNS(step, s, S, T, LOAD, START, STEP, JOIN)                              \
  QK_SHARED void qk_block_##step##_##s(const S* x, int32_t n, int32_t stride, int32_t width,   \
                                       const T* q, T* out) {                                   \
    T joined[4][64 / sizeof(T)], acc[64 / sizeof(T)];                                          \
    int32_t i, j, c, level;                                                                    \
    (void)q;                                                                                   \
    for (j = 0; j < QN_LANES; ++j) {                                                           \
      const int32_t lane = (j & 1) << 3 | (j & 2) << 1 | (j & 4) >> 1 | (j & 8) >> 3;          \
      for (c = 0; c < QK_COLUMNS(T); ++c) acc[c] = (START);                                    \
      for (i = lane; i < n; i += QN_LANES) {                                                   \
        const S* const row = x + (ptrdiff_t)i * stride;                                        \
        if (width == QK_COLUMNS(T))                                                            \
          for (c = 0; c < QK_COLUMNS(T); ++c) acc[c] = STEP(acc[c], LOAD(row[c]), q[c]);       \
        else                                                                                   \
          for (c = 0; c < width; ++c) acc[c] = STEP(acc[c], LOAD(row[c]), q[c]);               \
      }                                                                                        \
      for (level = 0; j >> level & 1; ++level)                                                 \
        for (c = 0; c < QK_COLUMNS(T); ++c) acc[c] = JOIN(joined[level][c], acc[c]);           \
      for (c = 0; c < QK_COLUMNS(T) && level < 4; ++c) joined[level][c] = acc[c];              \
    }                                                                                          \
    for (c = 0; c < width; ++c) out[c] = acc[c];                                               \
  }                                                                                            \
  QK_SHARED void qk_columns_##step##_##s(const qk_reduce_params* p, const S* x, int32_t width, \
                                         const T* q, T* out) {                                 \
    const int32_t stride = p->inner_strides[0];                                                \
    T parts[QK_PARTS(T)], *part;                                                               \
    int32_t left = p->inner_dims[0], b, c, level;                                              \
    for (b = 0;; ++b, left -= QN_BLOCK, x += (ptrdiff_t)QN_BLOCK * stride) {                   \
      qk_block_##step##_##s(x, left < QN_BLOCK ? left : QN_BLOCK, stride, width, q, out);      \
      for (level = 0, part = parts; b >> level & 1; ++level, part += width)                    \
        for (c = 0; c < width; ++c) out[c] = JOIN(part[c], out[c]);                            \
      if (left <= QN_BLOCK) break;                                                             \
      for (c = 0; c < width; ++c) part[c] = out[c];                                            \
    }                                                                                          \
    for (; b >> level; ++level, part += width)                                                 \
      if (b >> level & 1)                                                                      \
        for (c = 0; c < width; ++c) out[c] = JOIN(part[c], out[c]);                            \
  }

#define QK_DEFINE_LANES(step, s, S, T, t, LOAD, STORE, START, STEP, JOIN)       \
  QN_DEFINE_REDUCE(qk_line_##step##_##s, S, T, LOAD, START, STEP, JOIN)         \
  QK_DEFINE_WALK(step, s, S, T, LOAD, START, STEP, JOIN)                        \
  QK_DEFINE_COLUMNS(step, s, S, T, LOAD, START, STEP, JOIN)                     \
  QK_INLINE T qk_row_##step##_##s(const qk_reduce_params* p, const S* x, T q) { \
    if (p->inner_rank > 1) return qk_walk_##step##_##s(p, x, q);                \
    return qk_line_##step##_##s(x, p->inner_dims[0], p->inner_strides[0], q);   \
  }

#define QK_STEP_EXP_F32(a, e, q) ((a) + qn_exp_f32((e) - (q)))
#define QK_STEP_EXP_F64(a, e, q) ((a) + qn_exp_f64((e) - (q)))
#define QK_DEFINE_FLOAT_LANES(s, S, T, t, t_, LOAD, STORE, U)                                   \
  QK_DEFINE_LANES(sum, s, S, T, t, LOAD, STORE, (T)0, QN_STEP_ADD, QN_JOIN_ADD)                 \
  QK_DEFINE_LANES(abs, s, S, T, t, LOAD, STORE, (T)0, QN_STEP_ADD_ABS_##U, QN_JOIN_ADD)         \
  QK_DEFINE_LANES(square, s, S, T, t, LOAD, STORE, (T)0, QN_STEP_SQUARE_##U, QN_JOIN_ADD)       \
  QK_DEFINE_LANES(deviation, s, S, T, t, LOAD, STORE, (T)0, QN_STEP_DEVIATION_##U, QN_JOIN_ADD) \
  QK_DEFINE_LANES(exp, s, S, T, t, LOAD, STORE, (T)0, QK_STEP_EXP_##U, QN_JOIN_ADD)             \
  QK_DEFINE_LANES(product, s, S, T, t, LOAD, STORE, (T)1, QN_STEP_MUL_##U, qn_mul_##t)          \
  QK_DEFINE_LANES(max, s, S, T, t, LOAD, STORE, -QN_INF_##U, QN_STEP_MAX_##U, qn_max_##t)       \
  QK_DEFINE_LANES(min, s, S, T, t, LOAD, STORE, QN_INF_##U, QN_STEP_MIN_##U, qn_min_##t)
QK_DEFINE_FLOAT_LANES(f32, float, float, f32, f32, QK_SAME, QK_SAME, F32)
QK_DEFINE_FLOAT_LANES(f64, double, double, f64, f64, QK_SAME, QK_SAME, F64)
QK_DEFINE_FLOAT_LANES(f16, uint16_t, float, f32, f32, qn_f16_to_f32, qn_f16_from_f32, F32)
QK_DEFINE_FLOAT_LANES(bf16, uint16_t, float, f32, f32, qn_bf16_to_f32, qn_bf16_from_f32, F32)

/* ---- all rows: a first pass PASS1 (none for most), MID of it, the pass PASS2, FINISH ---- */

#define QK_DEFINE_REDUCE_KERNEL(op, s, S, T, t, LOAD, STORE, PASS1, MID, pass2, FINISH)           \
  QK_INLINE void qk_reduce_##op##_##s(const qk_reduce_params* p, const S* x, S* y) {              \
    const int32_t last = p->outer_rank - 1, width = p->outer_dims[last];                          \
    const int32_t step = p->outer_strides[last];                                                  \
    const int columns = p->inner_rank == 1 && p->inner_strides[0] != 1 && step == 1 && width > 1; \
    int32_t index[8] = {0}, d, rows = 1, length = 1;                                              \
    for (d = 0; d <= last; ++d) rows *= p->outer_dims[d];                                         \
    for (d = 0; d < p->inner_rank; ++d) length *= p->inner_dims[d];                               \
    if (rows == 0) return;                                                                        \
    {                                                                                             \
      const T n = (T)length, correction = (T)p->correction;                                       \
      (void)n;                                                                                    \
      (void)correction;                                                                           \
      for (;;) {                                                                                  \
        for (int32_t c = 0; c < width;) {                                                         \
          T q[64 / sizeof(T)] = {0}, v[64 / sizeof(T)];                                           \
          const int32_t left = width - c, most = QK_TOGETHER(T, p->inner_dims[0]);                \
          const int32_t w = !columns ? 1 : left < most ? left : most;                             \
          if (columns) {                                                                          \
            PASS1(qk_columns_, s, (p, x + c, w, q, q);)                                           \
            for (int32_t k = 0; k < w; ++k) q[k] = MID(t, q[k]);                                  \
            qk_columns_##pass2##_##s(p, x + c, w, q, v);                                          \
          } else {                                                                                \
            PASS1(q[0] = qk_row_, s, (p, x + c * step, 0);)                                       \
            q[0] = MID(t, q[0]);                                                                  \
            v[0] = qk_row_##pass2##_##s(p, x + c * step, q[0]);                                   \
          }                                                                                       \
          for (int32_t k = 0; k < w; ++k) y[c + k] = STORE(FINISH(t, v[k], q[k]));                \
          c += w;                                                                                 \
        }                                                                                         \
        y += width;                                                                               \
        for (d = last - 1; d >= 0 && ++index[d] == p->outer_dims[d]; --d) {                       \
          index[d] = 0;                                                                           \
          x -= (p->outer_dims[d] - 1) * p->outer_strides[d];                                      \
        }                                                                                         \
        if (d < 0) return;                                                                        \
        x += p->outer_strides[d];                                                                 \
      }                                                                                           \
    }                                                                                             \
  }

#define QK_PASS_NONE(fn, s, call)
#define QK_PASS_SUM(fn, s, call) fn##sum_##s call
#define QK_PASS_MAX(fn, s, call) fn##max_##s call
#define QK_MID_NONE(t, q) (q)
#define QK_MID_MEAN(t, q) ((q) / n)
/* An infinite maximum would make infinity minus infinity of it. */
#define QK_MID_FINITE(t, q) (qn_isinf_##t(q) ? 0 : (q))
#define QK_FINISH_NONE(t, v, q) (v)
#define QK_FINISH_MEAN(t, v, q) ((v) / n)
#define QK_FINISH_SQRT(t, v, q) qn_sqrt_##t(v)
#define QK_FINISH_LOG(t, v, q) qn_log_##t(v)
#define QK_FINISH_LOG_ADD(t, v, q) (qn_log_##t(v) + (q))
#define QK_FINISH_VAR(t, v, q) ((v) / (n > correction ? n - correction : 0))
#define QK_FINISH_STD(t, v, q) qn_sqrt_##t(QK_FINISH_VAR(t, v, q))

#define QK_ONE_PASS(s, S, T, t, LOAD, STORE, op, pass, FINISH) \
  QK_DEFINE_REDUCE_KERNEL(op, s, S, T, t, LOAD, STORE, QK_PASS_NONE, QK_MID_NONE, pass, FINISH)
#define QK_DEFINE_FLOAT_REDUCE(op, s, S, T, t, LOAD, STORE)                                      \
  QK_ONE_PASS(s, S, T, t, LOAD, STORE, sum, sum, QK_FINISH_NONE)                                 \
  QK_ONE_PASS(s, S, T, t, LOAD, STORE, mean, sum, QK_FINISH_MEAN)                                \
  QK_ONE_PASS(s, S, T, t, LOAD, STORE, max, max, QK_FINISH_NONE)                                 \
  QK_ONE_PASS(s, S, T, t, LOAD, STORE, min, min, QK_FINISH_NONE)                                 \
  QK_ONE_PASS(s, S, T, t, LOAD, STORE, prod, product, QK_FINISH_NONE)                            \
  QK_ONE_PASS(s, S, T, t, LOAD, STORE, l1, abs, QK_FINISH_NONE)                                  \
  QK_ONE_PASS(s, S, T, t, LOAD, STORE, l2, square, QK_FINISH_SQRT)                               \
  QK_ONE_PASS(s, S, T, t, LOAD, STORE, sum_square, square, QK_FINISH_NONE)                       \
  QK_ONE_PASS(s, S, T, t, LOAD, STORE, log_sum, sum, QK_FINISH_LOG)                              \
  QK_DEFINE_REDUCE_KERNEL(log_sum_exp, s, S, T, t, LOAD, STORE, QK_PASS_MAX, QK_MID_FINITE, exp, \
                          QK_FINISH_LOG_ADD)                                                     \
  QK_DEFINE_REDUCE_KERNEL(var, s, S, T, t, LOAD, STORE, QK_PASS_SUM, QK_MID_MEAN, deviation,     \
                          QK_FINISH_VAR)                                                         \
  QK_DEFINE_REDUCE_KERNEL(std, s, S, T, t, LOAD, STORE, QK_PASS_SUM, QK_MID_MEAN, deviation,     \
                          QK_FINISH_STD)
QK_FLOAT_TYPES(QK_DEFINE_FLOAT_REDUCE, )

/* ---- integers and bool: exact, so the order is free ---- */

#define QK_DEFINE_EXACT(op, s, T, START, STEP, FINISH)                               \
  QK_INLINE void qk_reduce_##op##_##s(const qk_reduce_params* p, const T* x, T* y) { \
    const int32_t last = p->inner_rank - 1;                                          \
    int32_t outer[8] = {0}, inner[8], d, rows = 1, n = 1;                            \
    for (d = 0; d < p->outer_rank; ++d) rows *= p->outer_dims[d];                    \
    for (d = 0; d <= last; ++d) n *= p->inner_dims[d];                               \
    for (int32_t o = 0; o < rows; ++o) {                                             \
      const T* at = x;                                                               \
      T v = (START);                                                                 \
      for (d = 0; d <= last; ++d) inner[d] = 0;                                      \
      for (int32_t i = 0; i < n; ++i) {                                              \
        v = STEP(v, *at);                                                            \
        for (d = last; d > 0 && ++inner[d] == p->inner_dims[d]; --d) {               \
          inner[d] = 0;                                                              \
          at -= (p->inner_dims[d] - 1) * p->inner_strides[d];                        \
        }                                                                            \
        if (i + 1 < n) at += p->inner_strides[d];                                    \
      }                                                                              \
      y[o] = FINISH(v, n);                                                           \
      for (d = p->outer_rank - 1; d > 0 && ++outer[d] == p->outer_dims[d]; --d) {    \
        outer[d] = 0;                                                                \
        x -= (p->outer_dims[d] - 1) * p->outer_strides[d];                           \
      }                                                                              \
      if (o + 1 < rows) x += p->outer_strides[d];                                    \
    }                                                                                \
  }
#define QK_EXACT_RESULT(v, n) (v)
#define QK_DEFINE_INT_REDUCE(s, T, MIN, MAX)                                                    \
  QK_INLINE T qk_reduce_add_abs_##s(T a, T e) { return qn_add_##s(a, qn_abs_##s(e)); }          \
  QK_INLINE T qk_reduce_add_square_##s(T a, T e) { return qn_add_##s(a, qn_square_##s(e)); }    \
  QK_INLINE T qk_reduce_divide_##s(T a, int32_t n) {                                            \
    return (T)(n == 0 ? 0 : (MIN) < 0 ? (int64_t)a / n : (int64_t)((uint64_t)a / (uint64_t)n)); \
  }                                                                                             \
  QK_DEFINE_EXACT(sum, s, T, 0, qn_add_##s, QK_EXACT_RESULT)                                    \
  QK_DEFINE_EXACT(mean, s, T, 0, qn_add_##s, qk_reduce_divide_##s)                              \
  QK_DEFINE_EXACT(max, s, T, MIN, qn_max_##s, QK_EXACT_RESULT)                                  \
  QK_DEFINE_EXACT(min, s, T, MAX, qn_min_##s, QK_EXACT_RESULT)                                  \
  QK_DEFINE_EXACT(prod, s, T, 1, qn_mul_##s, QK_EXACT_RESULT)                                   \
  QK_DEFINE_EXACT(l1, s, T, 0, qk_reduce_add_abs_##s, QK_EXACT_RESULT)                          \
  QK_DEFINE_EXACT(sum_square, s, T, 0, qk_reduce_add_square_##s, QK_EXACT_RESULT)
QK_DEFINE_INT_REDUCE(i8, int8_t, INT8_MIN, INT8_MAX)
QK_DEFINE_INT_REDUCE(i16, int16_t, INT16_MIN, INT16_MAX)
QK_DEFINE_INT_REDUCE(i32, int32_t, INT32_MIN, INT32_MAX)
QK_DEFINE_INT_REDUCE(i64, int64_t, INT64_MIN, INT64_MAX)
QK_DEFINE_INT_REDUCE(u8, uint8_t, 0, UINT8_MAX)
QK_DEFINE_INT_REDUCE(u16, uint16_t, 0, UINT16_MAX)
QK_DEFINE_INT_REDUCE(u32, uint32_t, 0, UINT32_MAX)
QK_DEFINE_INT_REDUCE(u64, uint64_t, 0, UINT64_MAX)
QK_DEFINE_EXACT(any, bool, uint8_t, 0, qn_or_bool, QK_EXACT_RESULT)
QK_DEFINE_EXACT(all, bool, uint8_t, 1, qn_and_bool, QK_EXACT_RESULT)
