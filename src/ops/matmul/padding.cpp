#include "ops/matmul/matmul.h"
#include "ops/matmul/qmatmul.h"

namespace qc {
namespace {

/// Operands a [..., m, k] and b [..., k, n], or b [..., n, k]: what is padded along k is filled.
Result<Ok> pad_product(PaddedNode& c, bool transpose_b, bool codes) {
  const Padding a = c.padding(0), b = c.padding(1);
  if (a.size() < 2 || b.size() < 2) return c.refuse("it multiplies a vector");
  const size_t rank = std::max(a.size(), b.size());
  const AxisSegments &rows = a[a.size() - 2], &k = a.back();
  const AxisSegments &k_of_b = b[b.size() - (transpose_b ? 1 : 2)],
                     &columns = b[b.size() - (transpose_b ? 2 : 1)];
  if (k != k_of_b) return c.refuse("its operands are padded differently");
  if (!k.empty()) {
    // 0 * -0 is -0, which changes no sum. Of codes the zero point on one side is enough.
    if (!codes) QC_TRY(c.fill(0, std::ssize(a) - 1, Fill::zero));
    QC_TRY(c.fill(1, std::ssize(b) - (transpose_b ? 1 : 2), Fill::minus_zero));
  }
  Padding to(rank);
  for (const Padding* own : {&a, &b}) {
    for (size_t i = 0; i + 2 < own->size(); ++i) {
      AxisSegments& axis = to[rank - own->size() + i];
      if ((*own)[i].empty()) continue;
      if (!axis.empty() && axis != (*own)[i])
        return c.refuse("its operands are padded differently");
      axis = (*own)[i];
    }
  }
  to[rank - 2] = rows;
  to[rank - 1] = columns;
  c.set_result(std::move(to));
  return Ok{};
}

}  // namespace

Result<Ok> MatMul::pad(PaddedNode& c) { return pad_product(c, transpose_b, false); }

Result<Ok> QMatMul::pad(PaddedNode& c) { return pad_product(c, transpose_b, true); }

}  // namespace qc
