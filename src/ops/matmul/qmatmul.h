#pragma once

#include "quant/quant_node.h"

namespace qc {

/// Codes x [..., k] times constant codes w [n, k] transposed: exact sums, one rounding. Operands x,
/// w, optional bias [n] (i32 or i64 codes of the sums, or f32) and, where x carries them, its scale
/// and zero point: one, or one per row. kernels/c/qgemm/output.h states how sums become results.
class QLinear final : public WeightedQuantNode<QLinear> {
 public:
  static const OpInfo kInfo;

  const OpInfo& info() const override { return kInfo; }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  AccumulatorProof accumulator() const override;
};

}  // namespace qc
