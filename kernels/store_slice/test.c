/* A slice, or a range of it, is written and nothing beside it.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/store_slice/portable.c"

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 300; ++i) {
    qk_store_slice_params p;
    const int32_t slices = qk_random_in(1, 5);
    int64_t index;
    uint8_t *x, *y, *expected;
    p.bytes = qk_random_in(1, 40);
    p.count = qk_random_in(0, p.bytes);
    p.first = p.count ? qk_random_in(0, p.bytes - p.count) : 0;
    index = qk_random_in(0, slices - 1);
    x = qk_random_bytes((size_t)p.bytes);
    y = qk_random_bytes((size_t)(p.bytes * slices));
    expected = qk_random_bytes((size_t)(p.bytes * slices));
    memcpy(expected, y, (size_t)(p.bytes * slices));
    for (int32_t k = 0; k < p.bytes; ++k) {
      if (p.count == 0 || (k >= p.first && k < p.first + p.count))
        expected[(int32_t)index * p.bytes + k] = x[k];
    }
    qk_store_slice(&p, x, &index, y);
    qk_expect_same("store_slice", y, expected, (size_t)(p.bytes * slices), &p.bytes, 3);
  }
  return 0;
}
QK_TARGET_END
