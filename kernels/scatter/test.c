/* Updates by index, replacing and adding, from the end and dropped too, one after the other.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/scatter/portable.c"

static void elements(int add) {
  qk_scatter_elements_params p;
  const int32_t rows = qk_random_in(1, 5), columns = qk_random_in(1, 5);
  const int32_t taken = qk_random_in(1, 5), all = rows * columns;
  int64_t* index = (int64_t*)(void*)qk_random_bytes(8 * (size_t)(taken * columns));
  float *x = qk_random_floats((size_t)all), *updates = qk_random_floats((size_t)(taken * columns));
  float *y = qk_random_floats((size_t)all), expected[25];
  for (int d = 0; d < 8; ++d) p.dims[d] = 1, p.ys[d] = 0;
  p.dims[6] = taken, p.dims[7] = columns, p.ys[7] = 1;
  p.total = all, p.size = rows, p.stride = columns, p.how = add ? QN_ADD : QN_REPLACE;
  memcpy(expected, x, 4 * (size_t)all);
  for (int32_t i = 0; i < taken * columns; ++i) {
    int64_t row = index[i] = qk_random_in(-7, 7);
    if (row < 0) row += rows;
    if (row < 0 || row >= rows) continue;
    float* to = expected + row * columns + i % columns;
    *to = add ? *to + updates[i] : updates[i];
  }
  if (add) {
    qk_scatter_elements_f32(&p, x, index, updates, y);
  } else {
    qk_scatter_elements_4(&p, (const void*)x, index, (const void*)updates, (void*)y);
  }
  qk_expect_same("scatter_elements", y, expected, 4 * (size_t)all, p.dims, 8);
}

static void tuples(int in_place) {
  qk_scatter_nd_params p;
  int64_t* index;
  uint8_t *x, *y, *updates, *expected;
  p.rows = qk_random_in(1, 6), p.depth = 1, p.block = qk_random_in(1, 5), p.how = QN_REPLACE;
  p.dims[0] = qk_random_in(1, 5);
  p.total = p.dims[0] * p.block;
  index = (int64_t*)(void*)qk_random_bytes(8 * (size_t)p.rows);
  x = qk_random_bytes((size_t)p.total), updates = qk_random_bytes((size_t)(p.rows * p.block));
  y = in_place ? x : qk_random_bytes((size_t)p.total);
  expected = qk_random_bytes((size_t)p.total);
  memcpy(expected, x, (size_t)p.total);
  for (int32_t r = 0; r < p.rows; ++r) {
    int64_t row = index[r] = qk_random_in(-7, 7);
    if (row < 0) row += p.dims[0];
    if (row >= 0 && row < p.dims[0])
      memcpy(expected + row * p.block, updates + r * p.block, (size_t)p.block);
  }
  qk_scatter_nd_1(&p, x, index, updates, y);
  qk_expect_same("scatter_nd", y, expected, (size_t)p.total, &p.total, 4);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) {
    elements(i % 2);
    tuples(i % 2);
  }
  return 0;
}
QK_TARGET_END
