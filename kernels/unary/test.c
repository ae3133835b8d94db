/* Functions of one operand are the scalar ones of kernels/numerics, in place too.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/unary/portable.c"

/* clang-format off */
#define FUNCTIONS(X) \
  X(sqrt, f32, float) X(exp, f32, float) X(log, f32, float) \
  X(tanh, f32, float) X(sigmoid, f32, float) X(gelu, f32, float) \
  X(erf, f32, float) X(sin, f32, float) X(floor, f32, float) \
  X(round, f32, float) X(reciprocal, f32, float) X(exp, f64, double) \
  X(abs, i8, int8_t) X(neg, i32, int32_t) X(sign, i64, int64_t) \
  X(square, u16, uint16_t)
/* clang-format on */

#define DEFINE(op, s, T)                                                       \
  static void check_##op##_##s(int in_place) {                                 \
    const qk_unary_params p = {qk_random_in(0, 70)};                           \
    T* x = (T*)(void*)qk_random_bytes(sizeof(T) * (size_t)p.n);                \
    T* y = in_place ? x : (T*)(void*)qk_random_bytes(sizeof(T) * (size_t)p.n); \
    T expected[70];                                                            \
    for (int32_t i = 0; i < p.n; ++i) {                                        \
      if ((T)0.5f != 0) x[i] = (T)(8 * qk_random_float());                     \
      expected[i] = qn_##op##_##s(x[i]);                                       \
    }                                                                          \
    qk_unary_##op##_##s(&p, x, y);                                             \
    qk_expect_same(#op " " #s, y, expected, sizeof(T) * (size_t)p.n, &p.n, 1); \
  }
FUNCTIONS(DEFINE)

static void check_predicate(void) {
  const qk_unary_params p = {qk_random_in(0, 70)};
  float* x = qk_random_floats((size_t)p.n);
  uint8_t *y = qk_random_bytes((size_t)p.n), expected[70];
  for (int32_t i = 0; i < p.n; ++i) {
    if (i % 5 == 4) x[i] = NAN;
    expected[i] = i % 5 == 4;
  }
  qk_unary_isnan_f32(&p, x, y);
  qk_expect_same("isnan", y, expected, (size_t)p.n, &p.n, 1);
}

static void check_scaled(void) {
  const qk_unary_scaled_params p = {qk_random_in(0, 70), 0.125f, 0};
  float *x = qk_random_floats((size_t)p.n), *y = qk_random_floats((size_t)p.n), expected[70];
  for (int32_t i = 0; i < p.n; ++i) expected[i] = x[i] < 0 ? x[i] * p.a : x[i];
  qk_unary_leaky_relu_f32(&p, x, y);
  qk_expect_same("leaky_relu", y, expected, 4 * (size_t)p.n, &p.n, 1);
}

#define CHECK(op, s, T) check_##op##_##s(i % 2);
int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 40; ++i) {
    FUNCTIONS(CHECK)
    check_predicate();
    check_scaled();
  }
  return 0;
}
QK_TARGET_END
