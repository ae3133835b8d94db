/* Rotations of some heads of rows that lie apart, as floats and as codes, against the formula. */
/* What names the instructions comes first. */
/* clang-format off */
#include "kernels/common/testing.h"
#include "kernels/rotary/portable.c"
/* clang-format on */

/* A normalised row. */
static void normalised(const float* x, const float* gamma, int32_t n, float eps, float* y) {
  const float square = qn_reduce_deviation_f32(x, n, 1, 0.0f);
  const float rstd = 1.0f / sqrtf(square / (float)n + eps);
  for (int32_t i = 0; i < n; ++i) y[i] = x[i] * rstd * (gamma ? gamma[i] : 1.0f);
}

/* Element i of a rotated row. */
static float rotated(const float* x, const float* cosine, const float* sine, int32_t i, int32_t n,
                     int32_t interleaved) {
  const int32_t half = n / 2, first = interleaved ? i % 2 == 0 : i < half;
  const int32_t apart = interleaved ? 1 : half;
  const float other = first ? -x[i + apart] : x[i - apart];
  const float product = x[i] * cosine[i];
  return fmaf(other, sine[i], product);
}

static void check(int k) {
  const int32_t tokens = qk_random_in(1, 9), heads = qk_random_in(1, 5),
                n = 2 * qk_random_in(1, 20);
  const int32_t first = qk_random_in(0, heads - 1), count = qk_random_in(1, heads - first);
  const int32_t all = heads + qk_random_in(0, 3); /* in a row of which these are the first */
  const int32_t norm = k % 4 == 1, sizes[] = {tokens, heads, n, first, count, all, k % 2, norm};
  const size_t rows = (size_t)(tokens * heads), elements = rows * (size_t)n;
  const qk_rotary_params p = {.rank = 3,
                              .dims = {tokens, heads, n},
                              .x_at = {all * n, n, 1},
                              .c = {n, 0, 1},
                              .s = {n, 0, 1},
                              .axis = 1,
                              .first = first,
                              .count = count,
                              .interleaved = k % 2,
                              .norm = norm,
                              .gamma_at = k % 5 ? n : 0,
                              .eps = 0.01f};
  const qk_rotary_quantize_params c = {.rank = 3,
                                       .dims = {tokens, heads, n},
                                       .x_at = {all * n, n, 1},
                                       .c = {n, 0, 1},
                                       .s = {n, 0, 1},
                                       .axis = 1,
                                       .first = first,
                                       .count = count,
                                       .interleaved = k % 2,
                                       .norm = norm,
                                       .gamma_at = k % 5 ? n : 0,
                                       .eps = 0.01f,
                                       .x_type = k % 3 ? QK_F32 : QK_I8,
                                       .x_step = 1,
                                       .quantize = {.mode = QK_PER_TOKEN,
                                                    .lo = -127,
                                                    .hi = 127,
                                                    .symmetric = 1,
                                                    .size = 1,
                                                    .batch = qk_random_in(1, 4),
                                                    .span = n}};
  float* x = qk_random_floats((size_t)(tokens * all * n));
  const float *cosine = qk_random_floats((size_t)(tokens * n)),
              *sine = qk_random_floats((size_t)(tokens * n)), *x_scales = qk_random_floats(8),
              *gamma = k % 8 == 1 ? 0 : qk_random_floats((size_t)(count * n));
  const int32_t x_zeros[8] = {1, -2, 3, -4, 5, -6, 7, -8};
  int8_t* coded = (int8_t*)qk_random_floats((size_t)(tokens * all * n));
  float *y = qk_random_floats(elements), *expected = qk_random_floats(elements);
  float *floats = qk_random_floats((size_t)(n * 4)), *scales = qk_random_floats(rows);
  float* want = qk_random_floats(rows);
  int8_t *codes = (int8_t*)qk_random_floats(elements),
         *wanted = (int8_t*)qk_random_floats(elements);
  int32_t zeros[64], zero;
  for (int32_t i = 0; c.x_type == QK_I8 && i < tokens * all * n; ++i) {
    const int32_t head = i / n % all;
    coded[i] = (int8_t)qk_random_in(-128, 127);
    if (head < heads) x[i] = (float)(coded[i] - x_zeros[head]) * x_scales[head];
  }
  for (int32_t r = 0; r < tokens * heads; ++r) {
    const int32_t t = r / heads, h = r % heads;
    const float* row = x + (ptrdiff_t)(t * all + h) * n;
    float even[40];
    if (norm && h >= first && h < first + count) {
      normalised(row, gamma ? gamma + (h - first) * p.gamma_at : 0, n, p.eps, even);
      row = even;
    }
    for (int32_t i = 0; i < n; ++i) {
      expected[r * n + i] = h >= first && h < first + count
                                ? rotated(row, cosine + t * n, sine + t * n, i, n, k % 2)
                                : row[i];
    }
    qn_dynamic_range(expected + r * n, n, -127, 127, 1, &want[r], &zero);
    for (int32_t i = 0; i < n; ++i)
      wanted[r * n + i] = (int8_t)qn_quantize(expected[r * n + i], want[r], zero, -127, 127);
  }
  qk_rotary_f32(&p, x, cosine, sine, gamma, y);
  qk_expect_same("rotary", y, expected, 4 * elements, sizes, 8);
  qk_rotary_quantize(&c, c.x_type == QK_F32 ? (const void*)x : coded, cosine, sine, gamma, x_scales,
                     x_zeros, 0, 0, codes, scales, zeros, floats);
  qk_expect_same("codes", codes, wanted, elements, sizes, 8);
  qk_expect_same("scales", scales, want, 4 * rows, sizes, 8);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int k = 0; k < 300; ++k) check(k);
  return 0;
}
QK_TARGET_END
