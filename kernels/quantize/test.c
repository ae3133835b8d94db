/* Codes against the formula in double: x / scale rounded to float, half to even, limited; and back.
 * arithmetic.md: Q1, Q10, Q11, Q16 */
#include "kernels/common/testing.h"
#include "kernels/quantize/portable.c"

static int32_t code(float v, int32_t zero, int32_t lo, int32_t hi) {
  const double shifted = nearbyint((double)v) + zero;
  if (v != v) return zero < lo ? lo : zero > hi ? hi : zero;
  return shifted < lo ? lo : shifted > hi ? hi : (int32_t)shifted;
}

/* One scale, one for each index of an axis, or one for each group of neighbours. */
static void check(int kind) {
  const int32_t outer = qk_random_in(1, 4), axis = qk_random_in(1, 9), inner = qk_random_in(1, 40);
  const int32_t n = outer * axis * inner, sizes[] = {kind, outer, axis, inner};
  const int32_t group = kind == 2 ? qk_random_in(1, axis) : 1;
  qk_quantize_params p = {outer, axis, inner, group, 0, kind ? 1 : 0, 0, -100, 110, 0};
  float *x = qk_random_floats((size_t)n), *scales = qk_random_floats((size_t)axis);
  int32_t* zeros = (int32_t*)(void*)qk_random_bytes(4 * (size_t)axis);
  int8_t *y = (int8_t*)qk_random_bytes((size_t)n), *expected = (int8_t*)qk_random_bytes((size_t)n);
  float *back = qk_random_floats((size_t)n), *expected_back = qk_random_floats((size_t)n);
  for (int32_t i = 0; i < axis; ++i) {
    scales[i] = 0.002f + 0.001f * (scales[i] + 1.0f);
    zeros[i] = qk_random_in(-100, 110);
  }
  for (int32_t i = 0; i < n; i += 7) x[i] = (float)qk_random_in(-40, 40) * 0.5f * scales[0];
  qk_quantize_i8(&p, x, scales, zeros, y);
  qk_dequantize_i8(&p, y, scales, zeros, back);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t at = kind ? i / inner % axis / group : 0;
    expected[i] = (int8_t)code(x[i] / scales[at], zeros[at], p.lo, p.hi);
    expected_back[i] = (float)(expected[i] - zeros[at]) * scales[at];
  }
  qk_expect_same("quantize", y, expected, (size_t)n, sizes, 4);
  qk_expect_same("dequantize", back, expected_back, 4 * (size_t)n, sizes, 4);
}

/* Rows become columns. */
static void check_transposed(int32_t rows, int32_t columns) {
  const int32_t n = 2 * rows * columns, sizes[] = {rows, columns}, zero = qk_random_in(-100, 110);
  const qk_quantize_transposed_params p = {2, rows, columns, -100, 110, 0};
  const float *x = qk_random_floats((size_t)n), scale = 0.004f;
  int8_t *y = (int8_t*)qk_random_bytes((size_t)n), *expected = (int8_t*)qk_random_bytes((size_t)n);
  float *back = qk_random_floats((size_t)n), *expected_back = qk_random_floats((size_t)n);
  qk_quantize_transposed_i8(&p, x, &scale, &zero, y);
  qk_dequantize_transposed_i8(&p, y, &scale, &zero, back);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t b = i / rows / columns, r = i / columns % rows, c = i % columns;
    const int32_t to = (b * columns + c) * rows + r;
    expected[to] = (int8_t)code(x[i] / scale, zero, p.lo, p.hi);
  }
  for (int32_t i = 0; i < n; ++i) { /* the same sizes again: y is seen as rows */
    const int32_t b = i / rows / columns, r = i / columns % rows, c = i % columns;
    expected_back[(b * columns + c) * rows + r] = (float)(expected[i] - zero) * scale;
  }
  qk_expect_same("quantize_transposed", y, expected, (size_t)n, sizes, 2);
  qk_expect_same("dequantize_transposed", back, expected_back, 4 * (size_t)n, sizes, 2);
}

/* The scale and zero point of a row, then its codes; the same of rows whose runs lie apart. */
static void check_dynamic(int32_t n) {
  const int32_t run = n % 3 == 0 ? n / 3 : n % 3 == 1 ? n : 2 * n, apart = run + 5;
  const qk_dynamic_params p = {2, n, 0, 255, 0, 0, 0, 0};
  const qk_dynamic_params in_runs = {2, n, 0, 255, 0, run, apart, 0};
  float* runs = qk_random_floats((size_t)(2 * n / run * apart));
  const float* x = qk_random_floats(2 * (size_t)n);
  uint8_t *y = qk_random_bytes(2 * (size_t)n), *expected = qk_random_bytes(2 * (size_t)n);
  float s[2];
  int32_t z[2];
  qk_dynamic_u8(&p, x, y, s, z);
  for (int32_t r = 0; r < 2; ++r) {
    float least = 0.0f, most = 0.0f;
    for (int32_t i = 0; i < n; ++i) {
      least = fminf(least, x[r * n + i]);
      most = fmaxf(most, x[r * n + i]);
    }
    const float scale = (most - least) / 255.0f;
    const int32_t zero = code(-least / scale, 0, 0, 255);
    qk_expect_same("scale", &s[r], &scale, 4, &n, 1);
    qk_expect_same("zero point", &z[r], &zero, 4, &n, 1);
    for (int32_t i = r * n; i < (r + 1) * n; ++i) {
      expected[i] = (uint8_t)code(x[i] / s[r], z[r], 0, 255);
    }
  }
  qk_expect_same("dynamic", y, expected, 2 * (size_t)n, &n, 1);
  for (int32_t i = 0; i < 2 * n; ++i) runs[i / run * apart + i % run] = x[i];
  qk_dynamic_u8(&in_runs, runs, y, s, z);
  qk_expect_same("dynamic in runs", y, expected, 2 * (size_t)n, &n, 1);
}

/* Bytes through a table, also in place. */
static void check_lookup(int32_t n) {
  const qk_lookup_params p = {n};
  uint8_t *x = qk_random_bytes((size_t)n), *table = qk_random_bytes(256);
  uint8_t *y = qk_random_bytes((size_t)n), *expected = qk_random_bytes((size_t)n);
  for (int32_t i = 0; i < n; ++i) expected[i] = table[x[i]];
  qk_lookup_8_8(&p, x, table, y);
  qk_expect_same("lookup", y, expected, (size_t)n, &n, 1);
  qk_lookup_8_8(&p, x, table, x);
  qk_expect_same("lookup in place", x, expected, (size_t)n, &n, 1);
}

/* Rows that are parts of longer ones. */
static void check_lookup_rows(int32_t rows, int32_t n, int32_t x_row) {
  const qk_lookup_rows_params p = {rows, n, x_row};
  const int32_t sizes[] = {rows, n, x_row};
  uint8_t *x = qk_random_bytes((size_t)rows * x_row), *table = qk_random_bytes(256);
  uint8_t *y = qk_random_bytes((size_t)rows * n), *expected = qk_random_bytes((size_t)rows * n);
  uint16_t* wide = (uint16_t*)(void*)qk_random_bytes(512);
  uint16_t* wide_y = (uint16_t*)(void*)qk_random_bytes(2 * (size_t)rows * n);
  uint16_t* wide_expected = (uint16_t*)(void*)qk_random_bytes(2 * (size_t)rows * n);
  for (int32_t i = 0; i < rows * n; ++i) {
    const uint8_t code = x[i / n * x_row + i % n];
    expected[i] = table[code];
    wide_expected[i] = wide[code];
  }
  qk_lookup_rows_8(&p, x, table, y);
  qk_expect_same("lookup of rows", y, expected, (size_t)rows * n, sizes, 3);
  qk_lookup_rows_16(&p, x, wide, wide_y);
  qk_expect_same("wide lookup of rows", wide_y, wide_expected, 2 * (size_t)rows * n, sizes, 3);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 300; ++i) check(i % 3);
  for (int32_t n = 2; n < 70; ++n) check_dynamic(n);
  for (int32_t n = 1; n < 1000; n += 37) check_lookup(n);
  for (int32_t n = 1; n < 200; n += 21) check_lookup_rows(1 + n % 5, n, n + n % 7);
  for (int i = 0; i < 100; ++i) check_transposed(qk_random_in(1, 20), qk_random_in(1, 70));
  return 0;
}
QK_TARGET_END
