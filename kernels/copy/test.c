/* Bytes of every count arrive, and none beside them.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/copy/portable.c"

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int32_t n = 0; n < 300; ++n) {
    const qk_copy_params p = {n};
    uint8_t *x = qk_random_bytes((size_t)n), *y = qk_random_bytes((size_t)n);
    qk_copy(&p, x, y);
    qk_expect_same("copy", y, x, (size_t)n, &n, 1);
  }
  return 0;
}
QK_TARGET_END
