// Products of codes with concrete sizes: reference evaluation and lowering.
#pragma once

#include "interp/eval.h"
#include "ops/common/weighted.h"
#include "ops/matmul/product.h"

namespace qc {

/// Sums of one matrix product of codes, sixteen columns at a time: `put(m, n, sum)`.
template <class F>
void sum_matrix(const Product& p, const int32_t* a, const int32_t* b, F&& put) {
  std::vector<int32_t> panel(static_cast<size_t>(p.k) * 16, 0);
  for (int64_t column = 0; column < p.n; column += 16) {
    const int64_t lanes = std::min<int64_t>(16, p.n - column);
    for (int64_t k = 0; k < p.k; ++k) {
      for (int64_t j = 0; j < lanes; ++j) {
        panel[static_cast<size_t>(k * 16 + j)] =
            p.b_rows ? b[(column + j) * p.k + k] : b[k * p.n + column + j];
      }
    }
    for (int64_t m = 0; m < p.m; ++m) {
      int64_t acc[16] = {0};
      const int32_t* row = a + m * p.k;
      const int32_t* w = panel.data();
      run_vectorised([&]() QC_VECTOR_BODY {
        int64_t lane[16] = {0};
        for (int64_t k = 0; k < p.k; ++k) {
          for (int j = 0; j < 16; ++j) lane[j] += int64_t{row[k]} * w[k * 16 + j];
        }
        for (int j = 0; j < 16; ++j) acc[j] = lane[j];
      });
      for (int64_t j = 0; j < lanes; ++j) put(m, column + j, acc[j]);
    }
  }
}

/// Evaluates a product of codes whose operands are x, w, bias, scales and zero points of x.
void eval_sums(EvalContext& c, const QuantNode& node, const Product& p, SumOutput output);
/// Lowers it; `output` has no bias yet.
Result<Ok> lower_sums(Lowering& l, const QuantNode& node, const Product& p, SumOutput output,
                      int64_t macs);

}  // namespace qc
