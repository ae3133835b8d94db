/* Rows that are kept, cut and filled, against one loop over all elements; in place too. */
#include "kernels/common/testing.h"
#include "kernels/pad_or_trim/portable.c"

static void run(int32_t bytes, const qk_pad_or_trim_params* p, const void* x, const void* value,
                void* y) {
  if (bytes == 1) qk_pad_or_trim_1(p, x, value, y);
  if (bytes == 2) qk_pad_or_trim_2(p, x, value, y);
  if (bytes == 4) qk_pad_or_trim_4(p, x, value, y);
  if (bytes == 8) qk_pad_or_trim_8(p, x, value, y);
}

static void check(int32_t bytes, int in_place) {
  qk_pad_or_trim_params p;
  static const uint8_t zero[8];
  uint8_t *x, *y, *expected, *value = qk_random_bytes(8);
  const int filled = qk_random() % 2 != 0;
  int32_t sizes[6];
  p.outer = qk_random_in(1, 4);
  p.from = qk_random_in(1, 9);
  p.to = in_place ? p.from : qk_random_in(1, 9);
  p.valid = qk_random_in(-1, 12);
  p.inner = qk_random_in(1, 5);
  p.repeat = !filled && qk_random() % 2 != 0;
  x = qk_random_bytes((size_t)(p.outer * p.from * p.inner * bytes));
  y = in_place ? x : qk_random_bytes((size_t)(p.outer * p.to * p.inner * bytes));
  expected = qk_random_bytes((size_t)(p.outer * p.to * p.inner * bytes));
  for (int32_t at = 0; at < p.outer * p.to * p.inner; ++at) {
    const int32_t row = at / p.inner % p.to, block = at / p.inner / p.to;
    const int32_t from = (block * p.from + row) * p.inner + at % p.inner;
    const int32_t last = (p.valid < p.from ? p.valid : p.from) - 1;
    const uint8_t* edge = x + ((block * p.from + last) * p.inner + at % p.inner) * bytes;
    const uint8_t* other = filled ? value : p.repeat && last >= 0 ? edge : zero;
    memcpy(expected + at * bytes, row < p.valid && row < p.from ? x + from * bytes : other,
           (size_t)bytes);
  }
  run(bytes, &p, x, filled ? value : NULL, y);
  sizes[0] = p.outer, sizes[1] = p.from, sizes[2] = p.to, sizes[3] = p.valid, sizes[4] = p.inner;
  sizes[5] = p.repeat;
  qk_expect_same("pad_or_trim", y, expected, (size_t)(p.outer * p.to * p.inner * bytes), sizes, 6);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 400; ++i) check(1 << i % 4, i / 4 % 2);
  return 0;
}
QK_TARGET_END
