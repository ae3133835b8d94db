/* Functions of two operands with every way of broadcasting, against one loop.
 * run gcc PORTABLE */
#include "kernels/binary/portable.c"
#include "kernels/common/testing.h"
#include "kernels/common/testing_broadcast.h"

/* clang-format off */
#define FUNCTIONS(X) \
  X(add, f32, float) X(sub, f32, float) X(mul, f32, float) \
  X(div, f32, float) X(max, f32, float) X(min, f64, double) \
  X(add, i8, int8_t) X(mul, i32, int32_t) X(sub, u16, uint16_t) \
  X(bit_xor, u64, uint64_t) X(floor_div, i16, int16_t)
/* clang-format on */

#define DEFINE_WANTED(op, s, T)                                                                   \
  static void wanted_##op##_##s(const qk_broadcast2_params* p, const T* a, const T* b, int32_t n, \
                                T* y) {                                                           \
    for (int32_t at = 0; at < n; ++at)                                                            \
      y[at] = qn_##op##_##s(a[qk_broadcast_position(at, p->rank, p->dims, p->a)],                 \
                            b[qk_broadcast_position(at, p->rank, p->dims, p->b)]);                \
  }                                                                                               \
  static T* random_##op##_##s(int32_t n) {                                                        \
    T* x = (T*)(void*)qk_random_bytes(sizeof(T) * (size_t)n);                                     \
    for (int32_t i = 0; (T)0.5f != 0 && i < n; ++i) x[i] = (T)qk_random_float();                  \
    return x;                                                                                     \
  }
FUNCTIONS(DEFINE_WANTED)

#define DEFINE(op, s, T)                                                              \
  static void check_##op##_##s(void) {                                                \
    qk_broadcast2_params p;                                                           \
    int32_t steps[2][8], sizes[2];                                                    \
    const int32_t all = qk_random_broadcast(&p.rank, p.dims, steps, sizes, 2);        \
    T *a = random_##op##_##s(sizes[0]), *b = random_##op##_##s(sizes[1]);             \
    T *y = random_##op##_##s(all), *expected = random_##op##_##s(all);                \
    memcpy(p.a, steps[0], sizeof p.a);                                                \
    memcpy(p.b, steps[1], sizeof p.b);                                                \
    wanted_##op##_##s(&p, a, b, all, expected);                                       \
    qk_binary_##op##_##s(&p, a, b, y);                                                \
    qk_expect_same(#op " " #s, y, expected, sizeof(T) * (size_t)all, p.dims, p.rank); \
  }
FUNCTIONS(DEFINE)

static void check_clamp(void) {
  qk_broadcast2_clamp_params p;
  int32_t steps[2][8], sizes[2];
  const int32_t all = qk_random_broadcast(&p.rank, p.dims, steps, sizes, 2);
  float *a = qk_random_floats((size_t)sizes[0]), *b = qk_random_floats((size_t)sizes[1]);
  float *y = qk_random_floats((size_t)all), *expected = qk_random_floats((size_t)all);
  memcpy(p.a, steps[0], sizeof p.a);
  memcpy(p.b, steps[1], sizeof p.b);
  p.lo = -0.5f, p.hi = 0.75f;
  for (int32_t at = 0; at < all; ++at) {
    const float sum = a[qk_broadcast_position(at, p.rank, p.dims, p.a)] +
                      b[qk_broadcast_position(at, p.rank, p.dims, p.b)];
    expected[at] = sum < p.lo ? p.lo : sum > p.hi ? p.hi : sum;
  }
  qk_binary_add_clamp_f32(&p, a, b, y);
  qk_expect_same("add_clamp", y, expected, 4 * (size_t)all, p.dims, p.rank);
}

#define CHECK(op, s, T) check_##op##_##s();
int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 60; ++i) {
    FUNCTIONS(CHECK)
    check_clamp();
  }
  return 0;
}
QK_TARGET_END
