/* Copies of boxes against one loop over all elements: any strides, negative ones too. */
#include "kernels/common/testing.h"
#include "kernels/strided/portable.c"

static void check(int32_t bytes) {
  qk_strided_params p;
  int32_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7}, count = 1, x_step = 1, y_step = 1;
  uint8_t *x, *y, *expected;
  memset(&p, 0, sizeof p);
  for (int d = 0; d < 8; ++d) p.dims[d] = d < 4 ? 1 : qk_random_in(1, d == 4 ? 3 : 12);
  for (int d = 7; d > 4; --d) { /* x lies in another order of axes */
    const int other = qk_random_in(4, d), was = order[d];
    order[d] = order[other];
    order[other] = was;
  }
  for (int d = 7; d >= 0; --d) {
    p.ys[d] = y_step;
    y_step *= p.dims[d];
    p.xs[order[d]] = x_step;
    x_step *= p.dims[order[d]];
    count *= p.dims[d];
  }
  for (int d = 4; d < 8; ++d) {
    if (qk_random() % 4) continue;
    p.x_offset += (p.dims[d] - 1) * p.xs[d];
    p.xs[d] = -p.xs[d];
  }
  x = qk_random_bytes((size_t)(count * bytes));
  y = qk_random_bytes((size_t)(count * bytes));
  expected = qk_random_bytes((size_t)(count * bytes));
  if (bytes == 1) qk_strided_1(&p, x, y);
  if (bytes == 2) qk_strided_2(&p, x, y);
  if (bytes == 4) qk_strided_4(&p, x, y);
  if (bytes == 8) qk_strided_8(&p, x, y);
  for (int32_t at = 0; at < count; ++at) {
    int32_t from = p.x_offset, left = at;
    for (int d = 7; d >= 0; left /= p.dims[d--]) from += left % p.dims[d] * p.xs[d];
    memcpy(expected + at * bytes, x + from * bytes, (size_t)bytes);
  }
  qk_expect_same("strided", y, expected, (size_t)(count * bytes), p.dims, 8);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 400; ++i) check(1 << i % 4);
  return 0;
}
QK_TARGET_END
