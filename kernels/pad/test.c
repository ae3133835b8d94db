/* Borders of every width around up to three axes, against one loop over the result.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/pad/portable.c"

static void run(int32_t bytes, const qk_pad_params* p, const void* x, const void* v, void* y) {
  if (bytes == 1) qk_pad_1(p, x, v, y);
  if (bytes == 2) qk_pad_2(p, x, v, y);
  if (bytes == 4) qk_pad_4(p, x, v, y);
  if (bytes == 8) qk_pad_8(p, x, v, y);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 400; ++i) {
    const int32_t bytes = 1 << i % 4;
    qk_pad_params p;
    int32_t from = 1, to = 1, size[8];
    uint8_t *x, *y, *expected, *value = qk_random_bytes(8);
    for (int d = 0; d < 8; ++d) {
      p.dims[d] = d < 5 && d != 1 ? 1 : qk_random_in(1, 5);
      p.before[d] = d < 5 && d != 1 ? 0 : qk_random_in(0, 3);
      p.after[d] = d < 5 && d != 1 ? 0 : qk_random_in(0, 3);
      size[d] = p.before[d] + p.dims[d] + p.after[d];
      from *= p.dims[d], to *= size[d];
    }
    x = qk_random_bytes((size_t)(from * bytes));
    y = qk_random_bytes((size_t)(to * bytes));
    expected = qk_random_bytes((size_t)(to * bytes));
    for (int32_t at = 0; at < to; ++at) {
      int32_t rest = at, position = 0, step = 1, inside = 1;
      for (int d = 7; d >= 0; --d) {
        const int32_t k = rest % size[d] - p.before[d];
        inside = inside && k >= 0 && k < p.dims[d];
        position += k * step;
        rest /= size[d], step *= p.dims[d];
      }
      memcpy(expected + at * bytes, inside ? x + position * bytes : value, (size_t)bytes);
    }
    run(bytes, &p, x, value, y);
    qk_expect_same("pad", y, expected, (size_t)(to * bytes), p.dims, 8);
  }
  return 0;
}
QK_TARGET_END
