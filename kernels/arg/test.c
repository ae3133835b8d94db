/* Positions of extremes, sorted rows and histograms, against searches over each row.
 * run gcc PORTABLE */
#include "kernels/arg/portable.c"
#include "kernels/common/testing.h"

static void extremes(int largest) {
  qk_arg_params p;
  int8_t* x;
  int64_t *y, expected[48];
  p.outer = qk_random_in(1, 4), p.n = qk_random_in(1, 9), p.inner = qk_random_in(1, 4);
  p.last = qk_random_in(0, 1);
  x = (int8_t*)qk_random_bytes((size_t)(p.outer * p.n * p.inner));
  for (int32_t i = 0; i < p.outer * p.n * p.inner; ++i) x[i] = (int8_t)qk_random_in(-3, 3);
  y = (int64_t*)(void*)qk_random_bytes(8 * (size_t)(p.outer * p.inner));
  for (int32_t r = 0; r < p.outer * p.inner; ++r) {
    const int8_t* row = x + r / p.inner * p.n * p.inner + r % p.inner;
    expected[r] = 0;
    for (int32_t k = 1; k < p.n; ++k) {
      const int above = row[k * p.inner] - row[expected[r] * p.inner];
      if ((largest ? above : -above) > 0 || (above == 0 && p.last)) expected[r] = k;
    }
  }
  if (largest) qk_arg_max_i8(&p, x, y);
  if (!largest) qk_arg_min_i8(&p, x, y);
  qk_expect_same("arg", y, expected, 8 * (size_t)(p.outer * p.inner), &p.outer, 4);
}

/* Each place of the result has an element that exactly so many stand before. */
static void sorted(void) {
  qk_sort_params p;
  int8_t *x, *values, expected[64];
  int64_t *positions, expected_positions[64];
  int32_t* scratch;
  p.outer = qk_random_in(1, 3), p.n = qk_random_in(1, 7), p.inner = qk_random_in(1, 3);
  p.k = qk_random_in(1, p.n), p.descending = qk_random_in(0, 1);
  x = (int8_t*)qk_random_bytes((size_t)(p.outer * p.n * p.inner));
  for (int32_t i = 0; i < p.outer * p.n * p.inner; ++i) x[i] = (int8_t)qk_random_in(-3, 3);
  values = (int8_t*)qk_random_bytes((size_t)(p.outer * p.k * p.inner));
  positions = (int64_t*)(void*)qk_random_bytes(8 * (size_t)(p.outer * p.k * p.inner));
  scratch = (int32_t*)(void*)qk_random_bytes(8 * (size_t)p.n);
  for (int32_t r = 0; r < p.outer * p.inner; ++r) {
    const int8_t* row = x + r / p.inner * p.n * p.inner + r % p.inner;
    for (int32_t k = 0; k < p.n; ++k) {
      int32_t before = 0;
      for (int32_t j = 0; j < p.n; ++j) {
        const int less = p.descending ? row[j * p.inner] > row[k * p.inner]
                                      : row[j * p.inner] < row[k * p.inner];
        before += less || (row[j * p.inner] == row[k * p.inner] && j < k);
      }
      if (before >= p.k) continue;
      expected[(r / p.inner * p.k + before) * p.inner + r % p.inner] = row[k * p.inner];
      expected_positions[(r / p.inner * p.k + before) * p.inner + r % p.inner] = k;
    }
  }
  qk_sort_i8(&p, x, values, positions, scratch);
  qk_expect_same("sorted", values, expected, (size_t)(p.outer * p.k * p.inner), &p.outer, 5);
  qk_expect_same("positions", positions, expected_positions, 8 * (size_t)(p.outer * p.k * p.inner),
                 &p.outer, 5);
}

static void bins(void) {
  const qk_histogram_params p = {qk_random_in(0, 60), 4, -0.5f, 0.5f};
  float *x = qk_random_floats((size_t)p.n), *y = qk_random_floats(4), expected[4] = {0};
  for (int32_t i = 0; i < p.n; ++i) {
    x[i] = 0.125f * (float)qk_random_in(-8, 8); /* no rounding at the edges */
    if (x[i] < -0.5f || x[i] > 0.5f) continue;
    const int32_t bin = (int32_t)((x[i] + 0.5f) * 4);
    expected[bin < 4 ? bin : 3] += 1;
  }
  qk_histogram_f32(&p, x, y);
  qk_expect_same("histogram", y, expected, sizeof expected, &p.n, 2);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 200; ++i) {
    extremes(i % 2);
    sorted();
    bins();
  }
  return 0;
}
QK_TARGET_END
