/* Comparisons with every way of broadcasting, of NaN too, against one loop.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/common/testing_broadcast.h"
#include "kernels/compare/portable.c"

/* clang-format off */
#define FUNCTIONS(X) \
  X(eq, f32, float, ==) X(ne, f32, float, !=) X(lt, f32, float, <) \
  X(le, f64, double, <=) X(gt, i8, int8_t, >) X(ge, u8, uint8_t, >=) \
  X(lt, i64, int64_t, <) X(gt, u32, uint32_t, >)
/* clang-format on */

#define DEFINE_WANTED(op, s, T, SIGN)                                                             \
  static void wanted_##op##_##s(const qk_broadcast2_params* p, const T* a, const T* b, int32_t n, \
                                uint8_t* y) {                                                     \
    for (int32_t at = 0; at < n; ++at)                                                            \
      y[at] = a[qk_broadcast_position(at, p->rank, p->dims, p->a)] SIGN                           \
          b[qk_broadcast_position(at, p->rank, p->dims, p->b)];                                   \
  }                                                                                               \
  static T* random_##op##_##s(int32_t n) {                                                        \
    T* x = (T*)(void*)qk_random_bytes(sizeof(T) * (size_t)n);                                     \
    for (int32_t i = 0; i < n; ++i) x[i] = (T)qk_random_in(0, 5);                                 \
    return x;                                                                                     \
  }
FUNCTIONS(DEFINE_WANTED)

#define DEFINE(op, s, T, SIGN)                                                           \
  static void check_##op##_##s(void) {                                                   \
    qk_broadcast2_params p;                                                              \
    int32_t steps[2][8], sizes[2];                                                       \
    const int32_t all = qk_random_broadcast(&p.rank, p.dims, steps, sizes, 2);           \
    T *a = random_##op##_##s(sizes[0]), *b = random_##op##_##s(sizes[1]);                \
    uint8_t *y = qk_random_bytes((size_t)all), *expected = qk_random_bytes((size_t)all); \
    memcpy(p.a, steps[0], sizeof p.a);                                                   \
    memcpy(p.b, steps[1], sizeof p.b);                                                   \
    if ((T)0.5f != 0) a[0] = (T)NAN;                                                     \
    wanted_##op##_##s(&p, a, b, all, expected);                                          \
    qk_compare_##op##_##s(&p, a, b, y);                                                  \
    qk_expect_same(#op " " #s, y, expected, (size_t)all, p.dims, p.rank);                \
  }
FUNCTIONS(DEFINE)

#define CHECK(op, s, T, SIGN) check_##op##_##s();
int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 80; ++i) {
    FUNCTIONS(CHECK)
  }
  return 0;
}
QK_TARGET_END
