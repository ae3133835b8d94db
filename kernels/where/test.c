/* Choices with every way of broadcasting, against one loop.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/where/portable.c"

/* Sizes of a result and strides of operands: each axis is walked or repeated. */
static int32_t shape(int32_t* rank, int32_t* dims, int32_t (*steps)[8], int32_t* sizes, int n) {
  int32_t all = 1;
  *rank = qk_random_in(1, 4);
  for (int j = 0; j < n; ++j) sizes[j] = 1;
  for (int d = *rank - 1; d >= 0; --d) {
    dims[d] = qk_random_in(1, 6);
    all *= dims[d];
    for (int j = 0; j < n; ++j) {
      steps[j][d] = qk_random() % 3 ? sizes[j] : 0;
      if (steps[j][d]) sizes[j] *= dims[d];
    }
  }
  return all;
}
/* Where element `at` of the result has its operand. */
static int32_t position(int32_t at, int32_t rank, const int32_t* dims, const int32_t* steps) {
  int32_t out = 0;
  for (int d = rank - 1; d >= 0; at /= dims[d--]) out += at % dims[d] * steps[d];
  return out;
}

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
             c[position(at, p->rank, p->dims, p->c)] ? a + position(at, p->rank, p->dims, p->a)   \
                                                     : b + position(at, p->rank, p->dims, p->b),  \
             sizeof(T));                                                                          \
  }                                                                                               \
  static T* random_##s(int32_t n) { return (T*)(void*)qk_random_bytes(sizeof(T) * (size_t)n); }
TYPES(DEFINE_WANTED)

#define DEFINE(s, T)                                                                   \
  static void check_##s(void) {                                                        \
    qk_broadcast3_params p;                                                            \
    int32_t steps[3][8], sizes[3];                                                     \
    const int32_t all = shape(&p.rank, p.dims, steps, sizes, 3);                       \
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
