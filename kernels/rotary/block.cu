/* A unit is some rows, which 256 threads rotate and encode together
 * (kernels/common/thread_block.h). */
#include "kernels/common/block_epilogue.h"
#include "kernels/common/body.h"
#include "kernels/common/codes.h"
#include "kernels/common/cuda.h"
#include "kernels/numerics/scalar_ops.h"
#include "kernels/rotary/rotary.h"

typedef struct qk_rotary_rows {
  const qk_rotary_quantize_params* p;
  const void* x;
  const float *cosine, *sine, *gamma, *x_scales;
  const int32_t* x_zeros;
  const float* rstd; /* of each row, where they are normalised */
} qk_rotary_rows;

/* Where a row starts, and its index along the axis. */
typedef struct qk_rotary_at {
  int64_t x, c, s;
  int32_t index;
} qk_rotary_at;

QK_UNIT qk_rotary_at qk_rotary_position(const qk_rotary_quantize_params* p, int64_t row) {
  qk_rotary_at at = {0, 0, 0, 0};
  for (int32_t d = p->rank - 2; d >= 0; --d) {
    const int32_t index = (int32_t)(row % p->dims[d]);
    row /= p->dims[d];
    at.x += (int64_t)index * p->x_at[d];
    at.c += (int64_t)index * p->c[d];
    at.s += (int64_t)index * p->s[d];
    if (d == p->axis) at.index = index;
  }
  return at;
}
QK_UNIT int32_t qk_rotary_rotates(const qk_rotary_quantize_params* p, const qk_rotary_at* at) {
  return at->index >= p->first && at->index - p->first < p->count;
}

/* 1 / the root of the mean of squares of a unit's rows. */
QK_UNIT void qk_rotary_statistics(const qk_block_rows* m, const qk_rotary_rows* a, int64_t unit,
                                  int32_t rows, int32_t n, float* rstd) {
  QK_BLOCK_SHARED float lanes[QK_BLOCK_LANES];
  QK_EACH_THREAD(t) {
    const int32_t r = t / m->size;
    const int64_t row = unit * m->rows + r;
    const qk_rotary_at at = qk_rotary_position(a->p, row < rows ? row : 0);
    qk_block_deviation_lanes(m, t % m->size, (const float*)a->x + at.x, 0, row < rows ? n : 0, 0.0f,
                             lanes + qk_block_first_lane(m, r));
  }
  qk_block_deviation_join(m, lanes);
  QK_EACH_THREAD(t) {
    if (t < m->rows)
      rstd[t] = 1.0f / qn_sqrt_f32(lanes[qk_block_first_lane(m, t)] / (float)n + a->p->eps);
  }
  QK_BLOCK_SYNC
}

/* Element i of the row at `at`. */
QK_UNIT float qk_rotary_element(const qk_rotary_rows* a, const qk_rotary_at* at, int32_t i) {
  const int32_t s = at->index * a->p->x_step;
  if (a->p->x_type == QK_F32) return ((const float*)a->x)[at->x + i];
  return qn_dequantize(qk_load_code(a->x, a->p->x_type, (ptrdiff_t)(at->x + i)),
                       a->x_scales ? a->x_scales[s] : 1.0f, a->x_zeros ? a->x_zeros[s] : 0);
}
/* The same of a row that rotates, the r-th of the unit, as it is before. */
QK_UNIT float qk_rotary_normalised(const qk_rotary_rows* a, int32_t r, const qk_rotary_at* at,
                                   int32_t i) {
  const qk_rotary_quantize_params* p = a->p;
  const float own = qk_rotary_element(a, at, i);
  if (!p->norm) return own;
  const float v = qn_mulf(own, a->rstd[r]);
  return a->gamma ? qn_mulf(v, a->gamma[(int64_t)(at->index - p->first) * p->gamma_at + i]) : v;
}
QK_UNIT float qk_rotary_value(const qk_rotary_rows* a, int32_t r, int64_t row, int32_t i) {
  const qk_rotary_quantize_params* p = a->p;
  const int32_t last = p->rank - 1, n = p->dims[last], half = n / 2;
  const int32_t low = p->interleaved ? i % 2 == 0 : i < half, apart = p->interleaved ? 1 : half;
  const qk_rotary_at at = qk_rotary_position(p, row);
  if (!qk_rotary_rotates(p, &at)) return qk_rotary_element(a, &at, i);
  const float own = qk_rotary_normalised(a, r, &at, i);
  const float other = qk_rotary_normalised(a, r, &at, low ? i + apart : i - apart);
  return qn_fmaf(low ? -other : other, a->sine[at.s + (int64_t)i * p->s[last]],
                 qn_mulf(own, a->cosine[at.c + (int64_t)i * p->c[last]]));
}

#define QK_WITH qk_rotary_end, qk_rotary_quantize_params, qk_rotary_rows, qk_rotary_value
#include "kernels/common/block_epilogue.inc"

QK_UNIT int32_t qk_rotary_count(const qk_rotary_quantize_params* p) {
  int32_t rows = 1;
  for (int32_t d = 0; d + 1 < p->rank; ++d) rows *= p->dims[d];
  return rows;
}
QK_BLOCK_SHARES(qk_rotary_quantize_block, qk_rotary_quantize_params)
QK_UNIT int64_t qk_rotary_quantize_block_units(const qk_rotary_quantize_params* p) {
  return qk_block_row_units(qk_rotary_count(p), p->dims[p->rank - 1]);
}
QK_UNIT void qk_rotary_quantize_block(const qk_rotary_quantize_params* p, int64_t unit,
                                      const void* x, const void* cosine, const void* sine,
                                      const void* gamma, const void* x_scales, const void* x_zeros,
                                      const void* scales, const void* zeros, void* y,
                                      void* y_scales, void* y_zeros, void* floats, void* ranges) {
  QK_BLOCK_SHARED float rstd[QK_BLOCK_ROWS];
  const int32_t rows = qk_rotary_count(p), n = p->dims[p->rank - 1];
  const qk_block_rows m = qk_block_rows_of(rows, n);
  const qk_rotary_rows a = {p,
                            x,
                            (const float*)cosine,
                            (const float*)sine,
                            (const float*)gamma,
                            (const float*)x_scales,
                            (const int32_t*)x_zeros,
                            rstd};
  if (p->norm) qk_rotary_statistics(&m, &a, unit, rows, n, rstd);
  qk_rotary_end(p, &m, unit, rows, n, &a, (const float*)scales, (const int32_t*)zeros, y,
                (float*)y_scales, (int32_t*)y_zeros, (float*)floats, (float*)ranges);
}
