/* Sums of rows of codes, side by side and one after the other, are exact before they are rescaled.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/qreduce/portable.c"

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 300; ++i) {
    qk_qreduce_params p;
    const int32_t rows = qk_random_in(1, 20), n = qk_random_in(1, 40), beside = i % 2;
    uint8_t *x = qk_random_bytes((size_t)(rows * n)), *y = qk_random_bytes((size_t)rows);
    uint8_t* expected = qk_random_bytes((size_t)rows);
    memset(&p, 0, sizeof p);
    p.outer_rank = p.inner_rank = 1;
    p.outer_dims[0] = rows, p.outer_strides[0] = beside ? 1 : n;
    p.inner_dims[0] = n, p.inner_strides[0] = beside ? rows : 1;
    p.type_x = qk_random_in(QK_I8, QK_U8), p.type_y = QK_U8;
    p.zx = qk_random_in(-9, 9), p.zero = 100, p.lo = 0, p.hi = 255;
    p.multiplier = 0.0625f, p.scale_y = 0.5f, p.divisor = n;
    p.mantissa = 1 << 30, p.shift = 34; /* a sixteenth */
    for (int kind = 0; kind < 3; ++kind) {
      for (int32_t r = 0; r < rows; ++r) {
        int64_t sum = 0;
        for (int32_t k = 0; k < n; ++k)
          sum += qk_load_code(x, p.type_x, beside ? k * rows + r : r * n + k) - p.zx;
        expected[r] =
            (uint8_t)(kind == 0   ? qn_rescale_wide(sum, p.multiplier, p.zero, p.lo, p.hi)
                      : kind == 1 ? qn_mean_q31(sum, n, p.mantissa, p.shift, p.zero, p.lo, p.hi)
                                  : qn_rescale_wide(sum, p.multiplier / (p.scale_y * (float)n),
                                                    p.zero, p.lo, p.hi));
      }
      if (kind == 0) qk_qreduce_sum(&p, x, y);
      if (kind == 1) qk_qreduce_sum_q31(&p, x, y);
      if (kind == 2) qk_qreduce_mean(&p, x, y);
      qk_expect_same("qreduce", y, expected, (size_t)rows, &rows, 1);
    }
  }
  return 0;
}
QK_TARGET_END
