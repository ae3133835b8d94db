/* A unit is some rows, which 256 threads compute together (kernels/common/thread_block.h). */
#include "kernels/common/block_epilogue.h"
#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/softmax/softmax.h"

#define QK_STEP_EXP_F32(a, e, p) ((a) + qn_exp_f32((e) - (p)))
#define QK_WITH qk_block_exp, 0.0f, QK_STEP_EXP_F32, QN_JOIN_ADD
#include "kernels/common/block_reduce.inc"

/* The maximum of each of a unit's rows and the sum of its exponentials; `zero` as the parameters
 * have it, and then a sum of 0 says that the row's results are 0. */
typedef struct qk_softmax_rows {
  const float *x, *max, *sum;
  int32_t n;
} qk_softmax_rows;

QK_UNIT void qk_softmax_statistics(const qk_block_rows* m, int64_t unit, int32_t rows, int32_t n,
                                   int32_t zero, const float* x, float* max, float* sum) {
  QK_BLOCK_SHARED float lanes[QK_BLOCK_LANES];
  QK_EACH_THREAD(t) {
    const int32_t r = t / m->size;
    const int64_t row = unit * m->rows + r;
    qk_block_max_lanes(m, t % m->size, x + (row < rows ? row * n : 0), 0, row < rows ? n : 0, 0.0f,
                       lanes + qk_block_first_lane(m, r));
  }
  qk_block_max_join(m, lanes);
  QK_EACH_THREAD(t) {
    if (t < m->rows) max[t] = lanes[qk_block_first_lane(m, t)];
  }
  QK_BLOCK_SYNC
  QK_EACH_THREAD(t) {
    const int32_t r = t / m->size;
    const int64_t row = unit * m->rows + r;
    qk_block_exp_lanes(m, t % m->size, x + (row < rows ? row * n : 0), 0, row < rows ? n : 0,
                       max[r], lanes + qk_block_first_lane(m, r));
  }
  qk_block_exp_join(m, lanes);
  QK_EACH_THREAD(t) {
    if (t < m->rows) {
      const float s = lanes[qk_block_first_lane(m, t)];
      const int none = (zero == 1 && max[t] == -QN_INF_F32) || (zero == 2 && !(s == s));
      sum[t] = none ? 0.0f : s;
    }
  }
  QK_BLOCK_SYNC
}

/* A sum of exponentials is never 0: one of them is 1, or it is NaN. */
QK_UNIT float qk_softmax_value(const qk_softmax_rows* a, int32_t r, int64_t row, int32_t i) {
  if (a->sum[r] == 0.0f) return 0.0f;
  return qn_exp_f32(a->x[row * a->n + i] - a->max[r]) / a->sum[r];
}

QK_BLOCK_SHARES(qk_softmax_block, qk_softmax_params)
QK_UNIT int64_t qk_softmax_block_units(const qk_softmax_params* p) {
  return qk_block_row_units(p->outer, p->n);
}
QK_BLOCK_SHARES(qk_log_softmax_block, qk_softmax_params)
QK_UNIT int64_t qk_log_softmax_block_units(const qk_softmax_params* p) {
  return qk_block_row_units(p->outer, p->n);
}
QK_UNIT void qk_softmax_block(const qk_softmax_params* p, int64_t unit, const void* x, void* y) {
  QK_BLOCK_SHARED float max[QK_BLOCK_ROWS];
  QK_BLOCK_SHARED float sum[QK_BLOCK_ROWS];
  const qk_block_rows m = qk_block_rows_of(p->outer, p->n);
  const qk_softmax_rows a = {(const float*)x, max, sum, p->n};
  qk_softmax_statistics(&m, unit, p->outer, p->n, p->zero, a.x, max, sum);
  QK_EACH_THREAD(t) {
    const int64_t row = unit * m.rows + t / m.size;
    for (int32_t i = t % m.size; row < p->outer && i < p->n; i += m.size)
      ((float*)y)[row * p->n + i] = qk_softmax_value(&a, t / m.size, row, i);
  }
}
QK_UNIT void qk_log_softmax_block(const qk_softmax_params* p, int64_t unit, const void* x,
                                  void* y) {
  QK_BLOCK_SHARED float max[QK_BLOCK_ROWS];
  QK_BLOCK_SHARED float sum[QK_BLOCK_ROWS];
  const qk_block_rows m = qk_block_rows_of(p->outer, p->n);
  qk_softmax_statistics(&m, unit, p->outer, p->n, 0, (const float*)x, max, sum);
  QK_EACH_THREAD(t) {
    const int32_t r = t / m.size;
    const int64_t row = unit * m.rows + r;
    const float log = qn_log_f32(sum[r]);
    for (int32_t i = t % m.size; row < p->outer && i < p->n; i += m.size)
      ((float*)y)[row * p->n + i] = (((const float*)x)[row * p->n + i] - max[r]) - log;
  }
}

#define QK_WITH qk_softmax_end, qk_softmax_quantize_params, qk_softmax_rows, qk_softmax_value
#include "kernels/common/block_epilogue.inc"

QK_BLOCK_SHARES(qk_softmax_quantize_block, qk_softmax_quantize_params)
QK_UNIT int64_t qk_softmax_quantize_block_units(const qk_softmax_quantize_params* p) {
  return qk_block_row_units(p->outer, p->n);
}
QK_UNIT void qk_softmax_quantize_block(const qk_softmax_quantize_params* p, int64_t unit,
                                       const void* x, const void* scales, const void* zeros,
                                       void* y, void* y_scales, void* y_zeros, void* floats,
                                       void* ranges) {
  QK_BLOCK_SHARED float max[QK_BLOCK_ROWS];
  QK_BLOCK_SHARED float sum[QK_BLOCK_ROWS];
  const qk_block_rows m = qk_block_rows_of(p->outer, p->n);
  const qk_softmax_rows a = {(const float*)x, max, sum, p->n};
  qk_softmax_statistics(&m, unit, p->outer, p->n, p->zero, a.x, max, sum);
  qk_softmax_end(p, &m, unit, p->outer, p->n, &a, (const float*)scales, (const int32_t*)zeros, y,
                 (float*)y_scales, (int32_t*)y_zeros, (float*)floats, (float*)ranges);
}
