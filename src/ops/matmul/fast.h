// Matrix products by loops that are fast enough for whole networks, sixteen columns at a time.
// Every sum has the order that the plain ones give it.
#pragma once

#include <algorithm>

#include "ops/common/dispatch.h"
#include "ops/common/vector.h"
#include "ops/matmul/product.h"

namespace qc {

struct FastLoops {
  static constexpr int kLanes = 16;

  template <class T, class E>
  static void matrix(DotStep step, const GemmShape& p, const E* a, const E* b, const Tensor* bias,
                     E lower, E upper, Tensor& y, int64_t at) {
    with_dot(step, [&](auto dot) {
      each_block<E>(
          p, a, b, [&](int64_t n) { return bias ? T::load(*bias, n) : E(0); },
          [](E x, E w, E sum) QC_VECTOR_BODY { return dot_step<decltype(dot)::value>(x, w, sum); },
          [&](int64_t m, int64_t n, E v) {
            if (v < lower) v = lower;
            if (v > upper) v = upper;
            T::store(y, at + m * p.n + n, v);
          });
    });
  }

  template <class F>
  static void accumulate(const GemmShape& p, const int32_t* a, const int32_t* b, F&& put) {
    each_block<int64_t>(
        p, a, b, [](int64_t) { return int64_t{0}; },
        [](int32_t x, int32_t w, int64_t sum) QC_VECTOR_BODY { return sum + int64_t{x} * w; }, put);
  }

 private:
  /// `first(n)` is what the accumulators of a column start from, `step(x, w, sum)` takes a product.
  template <class S, class E, class First, class Step, class Put>
  static void each_block(const GemmShape& p, const E* a, const E* b, First&& first, Step step,
                         Put&& put) {
    std::vector<E> block(static_cast<size_t>(p.k) * kLanes, E(0));
    for (int64_t column = 0; column < p.n; column += kLanes) {
      const int64_t lanes = std::min<int64_t>(kLanes, p.n - column);
      for (int64_t k = 0; k < p.k; ++k) {
        for (int64_t j = 0; j < lanes; ++j) {
          block[static_cast<size_t>(k * kLanes + j)] =
              p.b_rows ? b[(column + j) * p.k + k] : b[k * p.n + column + j];
        }
      }
      for (int64_t m = 0; m < p.m; ++m) {
        S accumulators[kLanes] = {0};
        for (int64_t j = 0; j < lanes; ++j) accumulators[j] = first(column + j);
        const E *row = a + m * p.k, *w = block.data();
        run_vectorised([&]() QC_VECTOR_BODY {
          S lane[kLanes];
          for (int j = 0; j < kLanes; ++j) lane[j] = accumulators[j];
          for (int64_t k = 0; k < p.k; ++k) {
            for (int j = 0; j < kLanes; ++j) lane[j] = step(row[k], w[k * kLanes + j], lane[j]);
          }
          for (int j = 0; j < kLanes; ++j) accumulators[j] = lane[j];
        });
        for (int64_t j = 0; j < lanes; ++j) put(m, column + j, accumulators[j]);
      }
    }
  }
};

}  // namespace qc
