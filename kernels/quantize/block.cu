/* A unit is some rows, or a run of elements of one scale, which 256 threads quantize together. */
#include "kernels/common/block_epilogue.h"
#include "kernels/common/cuda.h"
#include "kernels/quantize/quantize.h"

/* The ranges of runs of elements. */
QK_BLOCK_SHARES(qk_ranges_block, qk_ranges_params)
QK_UNIT int64_t qk_ranges_block_units(const qk_ranges_params* p) { return p->range_count; }
QK_UNIT void qk_ranges_block(const qk_ranges_params* p, int64_t unit, const void* x, void* ranges) {
  QK_BLOCK_SHARED float low[QK_THREAD_BLOCK];
  QK_BLOCK_SHARED float high[QK_THREAD_BLOCK];
  const qk_block_rows all = {1, QK_THREAD_BLOCK, 1};
  QK_EACH_THREAD(t) {
    float least = 0.0f, most = 0.0f;
    for (int64_t i = unit * QK_THREAD_BLOCK + t; i < p->n;
         i += (int64_t)p->range_count * QK_THREAD_BLOCK) {
      const float v = ((const float*)x)[i];
      least = v < least ? v : least;
      most = v > most ? v : most;
    }
    low[t] = least;
    high[t] = most;
  }
  qk_block_range(&all, low, high);
  QK_EACH_THREAD(t) {
    if (t == 0) ((float*)ranges)[2 * unit] = low[0];
    if (t == 0) ((float*)ranges)[2 * unit + 1] = high[0];
  }
}

QK_BLOCK_SHARES(qk_ranges_quantize_block, qk_ranges_params)
QK_UNIT int64_t qk_ranges_quantize_block_units(const qk_ranges_params* p) {
  return ((int64_t)p->n + QK_RANGES_UNIT - 1) / QK_RANGES_UNIT;
}
QK_UNIT void qk_ranges_quantize_block(const qk_ranges_params* p, int64_t unit, const void* x,
                                      const void* ranges, void* y, void* scales, void* zeros) {
  QK_BLOCK_SHARED float low[QK_THREAD_BLOCK];
  QK_BLOCK_SHARED float high[QK_THREAD_BLOCK];
  const qk_block_rows all = {1, QK_THREAD_BLOCK, 1};
  float scale;
  int32_t zero;
  QK_EACH_THREAD(t) {
    float least = 0.0f, most = 0.0f;
    for (int32_t i = t; i < p->range_count; i += QK_THREAD_BLOCK) {
      const float a = ((const float*)ranges)[2 * i], b = ((const float*)ranges)[2 * i + 1];
      least = a < least ? a : least;
      most = b > most ? b : most;
    }
    low[t] = least;
    high[t] = most;
  }
  qk_block_range(&all, low, high);
  qn_range_scale(low[0], high[0], p->lo, p->hi, p->symmetric, &scale, &zero);
  QK_EACH_THREAD(t) {
    if (unit == 0 && t == 0) ((float*)scales)[0] = scale;
    if (unit == 0 && t == 0) ((int32_t*)zeros)[0] = zero;
    for (int64_t i = unit * QK_RANGES_UNIT + t; i < (unit + 1) * QK_RANGES_UNIT && i < p->n;
         i += QK_THREAD_BLOCK)
      qk_block_store(p->size, y, i,
                     qk_block_code(((const float*)x)[i], scale, zero, 0, p->lo, p->hi));
  }
}

/* A scale for each row. */
QK_UNIT int64_t qk_dynamic_units(const qk_dynamic_params* p) {
  return qk_block_row_units(p->rows, p->n);
}
QK_UNIT void qk_dynamic_rows(const qk_dynamic_params* p, int64_t unit, const float* x, void* y,
                             float* scales, int32_t* zeros, int32_t size) {
  QK_BLOCK_SHARED float low[QK_THREAD_BLOCK];
  QK_BLOCK_SHARED float high[QK_THREAD_BLOCK];
  const qk_block_rows m = qk_block_rows_of(p->rows, p->n);
  QK_EACH_THREAD(t) {
    const int64_t row = unit * m.rows + t / m.size;
    float least = 0.0f, most = 0.0f;
    for (int32_t i = t % m.size; row < p->rows && i < p->n; i += m.size) {
      const float v = x[row * p->n + i];
      least = v < least ? v : least;
      most = v > most ? v : most;
    }
    low[t] = least;
    high[t] = most;
  }
  qk_block_range(&m, low, high);
  QK_EACH_THREAD(t) {
    const int32_t r = t / m.size;
    const int64_t row = unit * m.rows + r;
    float scale;
    int32_t zero;
    qn_range_scale(low[r * m.size], high[r * m.size], p->lo, p->hi, p->symmetric, &scale, &zero);
    for (int32_t i = t % m.size; row < p->rows && i < p->n; i += m.size)
      qk_block_store(size, y, row * p->n + i,
                     qk_block_code(x[row * p->n + i], scale, zero, 0, p->lo, p->hi));
    if (row < p->rows && t % m.size == 0) {
      scales[row] = scale;
      zeros[row] = zero;
    }
  }
}
#define QK_DEFINE_DYNAMIC_BLOCK(t, T)                                                         \
  QK_BLOCK_SHARES(qk_dynamic_block_##t, qk_dynamic_params)                                    \
  QK_UNIT int64_t qk_dynamic_block_##t##_units(const qk_dynamic_params* p) {                  \
    return qk_dynamic_units(p);                                                               \
  }                                                                                           \
  QK_UNIT void qk_dynamic_block_##t(const qk_dynamic_params* p, int64_t unit, const void* x,  \
                                    void* y, void* scales, void* zeros) {                     \
    qk_dynamic_rows(p, unit, (const float*)x, y, (float*)scales, (int32_t*)zeros, sizeof(T)); \
  }
QK_DEFINE_DYNAMIC_BLOCK(i8, int8_t)
QK_DEFINE_DYNAMIC_BLOCK(u8, uint8_t)
QK_DEFINE_DYNAMIC_BLOCK(i16, int16_t)
QK_DEFINE_DYNAMIC_BLOCK(u16, uint16_t)
