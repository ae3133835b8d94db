/* Conversions between types that C knows, against its own where it defines them.
 * run gcc PORTABLE */
#include "kernels/cast/portable.c"
#include "kernels/common/testing.h"

/* clang-format off */
#define PAIRS(X) \
  X(f32, float, f64, double) X(f64, double, f32, float) X(i8, int8_t, f32, float) \
  X(u8, uint8_t, i64, int64_t) X(i32, int32_t, i8, int8_t) X(i64, int64_t, u16, uint16_t) \
  X(u16, uint16_t, f64, double)
/* clang-format on */

#define DEFINE(f, F, t, T)                                                       \
  static void check_##f##_##t(void) {                                            \
    const qk_cast_params p = {qk_random_in(0, 70)};                              \
    F* x = (F*)(void*)qk_random_bytes(sizeof(F) * (size_t)p.n);                  \
    T *y = (T*)(void*)qk_random_bytes(sizeof(T) * (size_t)p.n), expected[70];    \
    for (int32_t i = 0; i < p.n; ++i) {                                          \
      if ((F)0.5f != 0) x[i] = (F)(100 * qk_random_float());                     \
      expected[i] = (T)x[i];                                                     \
    }                                                                            \
    qk_cast_##f##_##t(&p, x, y);                                                 \
    qk_expect_same(#f " to " #t, y, expected, sizeof(T) * (size_t)p.n, &p.n, 1); \
  }
PAIRS(DEFINE)

/* To integers: towards 0. To bool: whether it is not 0. */
static void check_others(void) {
  const qk_cast_params p = {qk_random_in(0, 70)};
  float* x = qk_random_floats((size_t)p.n);
  int32_t *y = (int32_t*)(void*)qk_random_bytes(4 * (size_t)p.n), expected[70];
  uint8_t *b = qk_random_bytes((size_t)p.n), truth[70];
  for (int32_t i = 0; i < p.n; ++i) {
    x[i] = i % 7 ? 1000 * x[i] : 0;
    expected[i] = (int32_t)x[i];
    truth[i] = x[i] != 0;
  }
  qk_cast_f32_i32(&p, x, y);
  qk_expect_same("f32 to i32", y, expected, 4 * (size_t)p.n, &p.n, 1);
  qk_cast_f32_bool(&p, x, b);
  qk_expect_same("f32 to bool", b, truth, (size_t)p.n, &p.n, 1);
}

/* Of e4m3, whose largest number is 448: with saturation what is larger is that, else NaN. */
static void check_modes(void) {
  const float x[3] = {1e6f, -1e6f, 1.0f};
  const uint8_t saturated[3] = {0x7e, 0xfe, 0x38}, other[3] = {0x7f, 0xff, 0x38};
  uint8_t y[3];
  const int32_t n = 3;
  qk_cast_mode_params p = {3, 1, 0};
  qk_cast_mode_f32_f8e4m3(&p, x, y);
  qk_expect_same("saturated", y, saturated, 3, &n, 1);
  p.saturate = 0;
  qk_cast_mode_f32_f8e4m3(&p, x, y);
  qk_expect_same("not saturated", y, other, 3, &n, 1);
}

#define CHECK(f, F, t, T) check_##f##_##t();
int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 40; ++i) {
    PAIRS(CHECK)
    check_others();
  }
  check_modes();
  return 0;
}
QK_TARGET_END
