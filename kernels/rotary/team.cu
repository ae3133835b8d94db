/* A unit is some rows, which 256 threads turn and encode together (kernels/common/team.h). */
#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/cuda.h"
#include "kernels/common/team_ending.h"
#include "kernels/rotary/rotary.h"

typedef struct qk_rotary_rows {
  const qk_rotary_quantize_params* p;
  const void* x;
  const float *cosine, *sine, *x_scales;
  const int32_t* x_zeros;
} qk_rotary_rows;

/* Element i of a row that starts at `from` and has index `at` along the axis. */
QK_UNIT float qk_rotary_element(const qk_rotary_rows* a, int64_t from, int32_t at, int32_t i) {
  const int32_t s = at * a->p->x_step;
  if (a->p->x_type == QK_F32) return ((const float*)a->x)[from + i];
  return qn_dequantize(qk_load_code(a->x, a->p->x_type, (ptrdiff_t)(from + i)),
                       a->x_scales ? a->x_scales[s] : 1.0f, a->x_zeros ? a->x_zeros[s] : 0);
}
QK_UNIT float qk_rotary_value(const qk_rotary_rows* a, int32_t r, int64_t row, int32_t i) {
  const qk_rotary_quantize_params* p = a->p;
  const int32_t last = p->rank - 1, n = p->dims[last], half = n / 2;
  const int32_t low = p->interleaved ? i % 2 == 0 : i < half, apart = p->interleaved ? 1 : half;
  int64_t x = 0, c = (int64_t)i * p->c[last], s = (int64_t)i * p->s[last], rest = row;
  int32_t at = 0;
  (void)r;
  for (int32_t d = last - 1; d >= 0; --d) {
    const int32_t index = (int32_t)(rest % p->dims[d]);
    rest /= p->dims[d];
    x += (int64_t)index * p->x_at[d];
    c += (int64_t)index * p->c[d];
    s += (int64_t)index * p->s[d];
    if (d == p->axis) at = index;
  }
  const float own = qk_rotary_element(a, x, at, i);
  if (at < p->first || at - p->first >= p->count) return own;
  const float other = qk_rotary_element(a, x, at, low ? i + apart : i - apart);
  return qn_fmaf(low ? -other : other, a->sine[s], qn_mulf(own, a->cosine[c]));
}

#define QK_WITH qk_rotary_end, qk_rotary_quantize_params, qk_rotary_rows, qk_rotary_value
#include "kernels/common/team_ending.inc"

QK_UNIT int32_t qk_rotary_count(const qk_rotary_quantize_params* p) {
  int32_t rows = 1;
  for (int32_t d = 0; d + 1 < p->rank; ++d) rows *= p->dims[d];
  return rows;
}
QK_TEAM_SHARES(qk_rotary_quantize_team, qk_rotary_quantize_params)
QK_UNIT int64_t qk_rotary_quantize_team_units(const qk_rotary_quantize_params* p) {
  return qk_team_units(qk_rotary_count(p), p->dims[p->rank - 1]);
}
QK_UNIT void qk_rotary_quantize_team(const qk_rotary_quantize_params* p, int64_t unit,
                                     const void* x, const void* cosine, const void* sine,
                                     const void* x_scales, const void* x_zeros, const void* scales,
                                     const void* zeros, void* y, void* y_scales, void* y_zeros,
                                     void* floats, void* ranges) {
  const int32_t rows = qk_rotary_count(p), n = p->dims[p->rank - 1];
  const qk_team m = qk_team_of(rows, n);
  const qk_rotary_rows a = {p,
                            x,
                            (const float*)cosine,
                            (const float*)sine,
                            (const float*)x_scales,
                            (const int32_t*)x_zeros};
  qk_rotary_end(p, &m, unit, rows, n, &a, (const float*)scales, (const int32_t*)zeros, y,
                (float*)y_scales, (int32_t*)y_zeros, (float*)floats, (float*)ranges);
}
