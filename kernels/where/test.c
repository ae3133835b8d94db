/* Choices with every way of broadcasting, against one loop.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/common/testing_broadcast.h"
#include "kernels/where/portable.c"

static void set_strides(qk_broadcast3_params* p, int32_t (*steps)[8]) {
  memcpy(p->a, steps[0], sizeof p->a);
  memcpy(p->b, steps[1], sizeof p->b);
  memcpy(p->c, steps[2], sizeof p->c);
}

/* clang-format off */
#define TYPES(X) \
  X(f32, float) X(f64, double) X(u8, uint8_t) \
  X(u16, uint16_t) X(u64, uint64_t)
/* clang-format on */

#define DEFINE_WANTED(s, T)                                                                       \
  static void wanted_##s(const qk_broadcast3_params* p, const uint8_t* c, const T* a, const T* b, \
                         int32_t n, T* y) {                                                       \
    for (int32_t at = 0; at < n; ++at)                                                            \
      memcpy(y + at,                                                                              \
             c[qk_broadcast_position(at, p->rank, p->dims, p->c)]                                 \
                 ? a + qk_broadcast_position(at, p->rank, p->dims, p->a)                          \
                 : b + qk_broadcast_position(at, p->rank, p->dims, p->b),                         \
             sizeof(T));                                                                          \
  }                                                                                               \
  static T* random_##s(int32_t n) { return (T*)(void*)qk_random_bytes(sizeof(T) * (size_t)n); }
TYPES(DEFINE_WANTED)

#define DEFINE(s, T)                                                                   \
  static void check_##s(void) {                                                        \
    qk_broadcast3_params p;                                                            \
    int32_t steps[3][8], sizes[3];                                                     \
    const int32_t all = qk_random_broadcast(&p.rank, p.dims, steps, sizes, 3);         \
    uint8_t* c = qk_random_bytes((size_t)sizes[2]);                                    \
    T *a = random_##s(sizes[0]), *b = random_##s(sizes[1]), *y = random_##s(all),      \
      *expected = random_##s(all);                                                     \
    set_strides(&p, steps);                                                            \
    for (int32_t i = 0; i < sizes[2]; ++i) c[i] &= 1;                                  \
    wanted_##s(&p, c, a, b, all, expected);                                            \
    qk_where_##s(&p, c, a, b, y);                                                      \
    qk_expect_same("where " #s, y, expected, sizeof(T) * (size_t)all, p.dims, p.rank); \
  }
TYPES(DEFINE)

#define CHECK(s, T) check_##s();
int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 80; ++i) {
    TYPES(CHECK)
  }
  return 0;
}
QK_TARGET_END
