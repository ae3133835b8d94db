/* Limits of floats and integers, NaN staying, in place too.
 * run gcc PORTABLE */
#include "kernels/clamp/portable.c"
#include "kernels/common/testing.h"

static void floats(int in_place) {
  const qk_clamp_params p = {qk_random_in(0, 70), -0.4f, 0.25f};
  float *x = qk_random_floats((size_t)p.n), *y = in_place ? x : qk_random_floats((size_t)p.n);
  float expected[70];
  for (int32_t i = 0; i < p.n; ++i) {
    if (i % 9 == 8) x[i] = NAN;
    expected[i] = x[i] < p.lo ? p.lo : x[i] > p.hi ? p.hi : x[i];
  }
  qk_clamp_f32(&p, x, y);
  qk_expect_same("clamp f32", y, expected, 4 * (size_t)p.n, &p.n, 1);
}

static void bytes(float lo, float hi) {
  const qk_clamp_params p = {qk_random_in(0, 70), lo, hi};
  int8_t *x = (int8_t*)qk_random_bytes((size_t)p.n), *y = (int8_t*)qk_random_bytes((size_t)p.n);
  int8_t expected[70];
  for (int32_t i = 0; i < p.n; ++i)
    expected[i] = (float)x[i] < lo ? (int8_t)lo : (float)x[i] > hi ? (int8_t)hi : x[i];
  qk_clamp_i8(&p, x, y);
  qk_expect_same("clamp i8", y, expected, (size_t)p.n, &p.n, 1);
}

static void exact(void) {
  const qk_clamp_to_params p = {qk_random_in(0, 70)};
  const int64_t limits[2] = {-((int64_t)1 << 60) - 1, ((int64_t)1 << 61) + 1};
  int64_t* x = (int64_t*)(void*)qk_random_bytes(8 * (size_t)p.n);
  int64_t *y = (int64_t*)(void*)qk_random_bytes(8 * (size_t)p.n), expected[70];
  for (int32_t i = 0; i < p.n; ++i)
    expected[i] = x[i] < limits[0] ? limits[0] : x[i] > limits[1] ? limits[1] : x[i];
  qk_clamp_to_i64(&p, x, limits, y);
  qk_expect_same("clamp_to i64", y, expected, 8 * (size_t)p.n, &p.n, 1);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 100; ++i) {
    floats(i % 2);
    bytes(-5, 90);
    bytes(-1000, 1e30f); /* limits nothing */
    exact();
  }
  return 0;
}
QK_TARGET_END
