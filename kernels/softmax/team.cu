/* A unit is some rows, which 256 threads compute together (kernels/common/team.h). */
#include "kernels/common/body.h"
#include "kernels/common/cuda.h"
#include "kernels/common/team_ending.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/softmax/softmax.h"

#define QK_STEP_EXP_F32(a, e, p) ((a) + qn_exp_f32((e) - (p)))
#define QK_WITH qk_team_exp, 0.0f, QK_STEP_EXP_F32, QN_JOIN_ADD
#include "kernels/common/team.inc"

/* The maximum of each of a unit's rows and the sum of its exponentials; `zero` as the parameters
 * have it, and then a sum of 0 says that the row's results are 0. */
typedef struct qk_softmax_rows {
  const float *x, *max, *sum;
  int32_t n;
} qk_softmax_rows;

QK_UNIT void qk_softmax_statistics(const qk_team* m, int64_t unit, int32_t rows, int32_t n,
                                   int32_t zero, const float* x, float* max, float* sum) {
  QK_TEAM_SHARED float parts[QK_TEAM_PARTS];
  QK_EACH_THREAD(t) {
    const int32_t r = t / m->size;
    const int64_t row = unit * m->rows + r;
    qk_team_max_lanes(m, t % m->size, x + (row < rows ? row * n : 0), 0, row < rows ? n : 0, 0.0f,
                      parts + qk_team_part(m, r));
  }
  qk_team_max_join(m, parts);
  QK_EACH_THREAD(t) {
    if (t < m->rows) max[t] = parts[qk_team_part(m, t)];
  }
  QK_TEAM_WAIT
  QK_EACH_THREAD(t) {
    const int32_t r = t / m->size;
    const int64_t row = unit * m->rows + r;
    qk_team_exp_lanes(m, t % m->size, x + (row < rows ? row * n : 0), 0, row < rows ? n : 0, max[r],
                      parts + qk_team_part(m, r));
  }
  qk_team_exp_join(m, parts);
  QK_EACH_THREAD(t) {
    if (t < m->rows) {
      const float s = parts[qk_team_part(m, t)];
      const int none = (zero == 1 && max[t] == -QN_INF_F32) || (zero == 2 && !(s == s));
      sum[t] = none ? 0.0f : s;
    }
  }
  QK_TEAM_WAIT
}

/* A sum of exponentials is never 0: one of them is 1, or it is NaN. */
QK_UNIT float qk_softmax_value(const qk_softmax_rows* a, int32_t r, int64_t row, int32_t i) {
  if (a->sum[r] == 0.0f) return 0.0f;
  return qn_exp_f32(a->x[row * a->n + i] - a->max[r]) / a->sum[r];
}

QK_TEAM_SHARES(qk_softmax_team, qk_softmax_params)
QK_UNIT int64_t qk_softmax_team_units(const qk_softmax_params* p) {
  return qk_team_units(p->outer, p->n);
}
QK_TEAM_SHARES(qk_log_softmax_team, qk_softmax_params)
QK_UNIT int64_t qk_log_softmax_team_units(const qk_softmax_params* p) {
  return qk_team_units(p->outer, p->n);
}
QK_UNIT void qk_softmax_team(const qk_softmax_params* p, int64_t unit, const void* x, void* y) {
  QK_TEAM_SHARED float max[QK_TEAM_ROWS];
  QK_TEAM_SHARED float sum[QK_TEAM_ROWS];
  const qk_team m = qk_team_of(p->outer, p->n);
  const qk_softmax_rows a = {(const float*)x, max, sum, p->n};
  qk_softmax_statistics(&m, unit, p->outer, p->n, p->zero, a.x, max, sum);
  QK_EACH_THREAD(t) {
    const int64_t row = unit * m.rows + t / m.size;
    for (int32_t i = t % m.size; row < p->outer && i < p->n; i += m.size)
      ((float*)y)[row * p->n + i] = qk_softmax_value(&a, t / m.size, row, i);
  }
}
QK_UNIT void qk_log_softmax_team(const qk_softmax_params* p, int64_t unit, const void* x, void* y) {
  QK_TEAM_SHARED float max[QK_TEAM_ROWS];
  QK_TEAM_SHARED float sum[QK_TEAM_ROWS];
  const qk_team m = qk_team_of(p->outer, p->n);
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
#include "kernels/common/team_ending.inc"

QK_TEAM_SHARES(qk_softmax_quantize_team, qk_softmax_quantize_params)
QK_UNIT int64_t qk_softmax_quantize_team_units(const qk_softmax_quantize_params* p) {
  return qk_team_units(p->outer, p->n);
}
QK_UNIT void qk_softmax_quantize_team(const qk_softmax_quantize_params* p, int64_t unit,
                                      const void* x, const void* scales, const void* zeros, void* y,
                                      void* y_scales, void* y_zeros, void* floats, void* ranges) {
  QK_TEAM_SHARED float max[QK_TEAM_ROWS];
  QK_TEAM_SHARED float sum[QK_TEAM_ROWS];
  const qk_team m = qk_team_of(p->outer, p->n);
  const qk_softmax_rows a = {(const float*)x, max, sum, p->n};
  qk_softmax_statistics(&m, unit, p->outer, p->n, p->zero, a.x, max, sum);
  qk_softmax_end(p, &m, unit, p->outer, p->n, &a, (const float*)scales, (const int32_t*)zeros, y,
                 (float*)y_scales, (int32_t*)y_zeros, (float*)floats, (float*)ranges);
}
