// Matrix products by plain loops: what they are defined to give.
#pragma once

#include "ops/common/dispatch.h"
#include "ops/matmul/product.h"

namespace qc {

struct PlainLoops {
  /// y = a * b + bias, limited; every sum is one chain along k that starts at the bias.
  template <class T, class E>
  static void matrix(DotStep step, const GemmShape& p, const E* a, const E* b, const Tensor* bias,
                     E lower, E upper, Tensor& y, int64_t at) {
    with_dot(step, [&](auto dot) {
      for (int64_t m = 0; m < p.m; ++m) {
        for (int64_t n = 0; n < p.n; ++n) {
          E sum = bias ? T::load(*bias, n) : E(0);
          for (int64_t k = 0; k < p.k; ++k) {
            const E bk = p.b_rows ? b[n * p.k + k] : b[k * p.n + n];
            sum = dot_step<dot()>(a[m * p.k + k], bk, sum);
          }
          if (sum < lower) sum = lower;
          if (sum > upper) sum = upper;
          T::store(y, at + m * p.n + n, sum);
        }
      }
    });
  }

  /// Exact accumulators of products of codes: `put(m, n, sum)`.
  template <class F>
  static void accumulate(const GemmShape& p, const int32_t* a, const int32_t* b, F&& put) {
    for (int64_t m = 0; m < p.m; ++m) {
      for (int64_t n = 0; n < p.n; ++n) {
        int64_t sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          sum += int64_t{a[m * p.k + k]} * (p.b_rows ? b[n * p.k + k] : b[k * p.n + n]);
        }
        put(m, n, sum);
      }
    }
  }
};

}  // namespace qc
