/* Sums and products of codes of every type with broadcasting, against the scalar formulas.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/common/testing_broadcast.h"
#include "kernels/qbinary/portable.c"

static int32_t any_code(int32_t type) {
  return type == QK_I8    ? qk_random_in(-128, 127)
         : type == QK_U8  ? qk_random_in(0, 255)
         : type == QK_I16 ? qk_random_in(-32768, 32767)
                          : qk_random_in(0, 65535);
}
static void* codes(int32_t n, int32_t type) {
  void* out = qk_random_bytes(2 * (size_t)n);
  for (int32_t i = 0; i < n; ++i) qk_store_code(out, type, i, any_code(type));
  return out;
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 300; ++i) {
    qk_qbinary_params p;
    int32_t steps[2][8], sizes[2], all;
    void *a, *b, *y, *expected;
    memset(&p, 0, sizeof p);
    all = qk_random_broadcast(&p.rank, p.dims, steps, sizes, 2);
    memcpy(p.a, steps[0], sizeof p.a);
    memcpy(p.b, steps[1], sizeof p.b);
    p.type_a = qk_random_in(QK_I8, QK_U16), p.type_b = qk_random_in(QK_I8, QK_U16);
    p.type_y = i % 2 ? QK_I8 : QK_U8;
    p.za = qk_random_in(-9, 9), p.zb = qk_random_in(-9, 9), p.zero = qk_random_in(-9, 9);
    p.lo = i % 2 ? -128 : 0, p.hi = i % 2 ? 127 : 255, p.lowest = p.lo;
    p.ra = 0.37f, p.rb = 0.011f;
    a = codes(sizes[0], p.type_a), b = codes(sizes[1], p.type_b);
    for (int op = 0; op < 2; ++op) {
      y = qk_random_bytes(2 * (size_t)all), expected = qk_random_bytes(2 * (size_t)all);
      for (int32_t at = 0; at < all; ++at) {
        const int32_t ca =
            qk_load_code(a, p.type_a, qk_broadcast_position(at, p.rank, p.dims, p.a));
        const int32_t cb =
            qk_load_code(b, p.type_b, qk_broadcast_position(at, p.rank, p.dims, p.b));
        const int32_t code = op ? qn_mul_codes(ca, cb, p.za, p.zb, p.ra, p.zero, p.lo, p.hi)
                                : qn_add_codes(ca, cb, p.za, p.zb, p.ra, p.rb, p.zero, p.lo, p.hi);
        qk_store_code(expected, p.type_y, at, code);
      }
      if (op) qk_qmul(&p, a, b, y);
      if (!op) qk_qadd(&p, a, b, y);
      qk_expect_same(op ? "qmul" : "qadd", y, expected, (size_t)all, p.dims, p.rank);
    }
  }
  return 0;
}
QK_TARGET_END
