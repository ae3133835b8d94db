/* The first index out of range, against one loop; what an earlier check found stays.
 * run gcc PORTABLE */
#include "kernels/bad_index/portable.c"
#include "kernels/common/testing.h"

static void check(void) {
  qk_bad_index_params p = {0};
  int64_t wanted[2] = {0, 0}, before[2] = {0, 0};
  const int with_before = qk_random_in(0, 2);
  p.depth = qk_random_in(1, 8);
  p.count = p.depth * qk_random_in(0, 6);
  p.number = qk_random_in(1, 9);
  for (int32_t d = 0; d < p.depth; ++d) p.sizes[d] = qk_random_in(1, 5);
  int64_t* x = (int64_t*)(void*)qk_random_bytes(8 * (size_t)(p.count + 1));
  int32_t* narrow = (int32_t*)(void*)qk_random_bytes(4 * (size_t)(p.count + 1));
  int64_t *y = (int64_t*)(void*)qk_random_bytes(16), *z = (int64_t*)(void*)qk_random_bytes(16);
  for (int32_t i = 0; i < p.count; ++i) {
    const int32_t size = p.sizes[i % p.depth], far = qk_random_in(0, 30) == 0;
    x[i] = far ? qk_random_in(0, 1) ? size : -size - 1 : qk_random_in(-size, size - 1);
    narrow[i] = (int32_t)x[i];
    if (far && wanted[0] == 0) wanted[0] = p.number, wanted[1] = x[i];
  }
  if (with_before == 2) wanted[0] = before[0] = 77, wanted[1] = before[1] = -5;
  qk_bad_index_i64(&p, x, with_before ? before : 0, y);
  qk_bad_index_i32(&p, narrow, with_before ? before : 0, z);
  qk_expect_same("bad_index i64", y, wanted, 16, p.sizes, 8);
  qk_expect_same("bad_index i32", z, wanted, 16, p.sizes, 8);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 400; ++i) check();
  return 0;
}
QK_TARGET_END
