#pragma once

#include "interp/eval.h"
#include "ir/padding.h"
#include "ops/attention/scores.h"
#include "quant/quant_node.h"

namespace qc {

/// Attention on codes of 8 bits, kernels/qattention/qattention.h states how: scores from integer
/// products, weights as codes, integer products with v. Operands: q, k, v, an optional mask (as in
/// attention), then scale and zero point of q, of k and of v where their formats carry them: one,
/// or one per row of the last axis.
class QAttention final : public QuantNodeBase<QAttention>,
                         public AttentionScores,
                         public TakesPadding {
 public:
  static const OpInfo kInfo;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    visit(v);
    QuantNodeBase::attrs(v);
  }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  AccumulatorProof accumulator() const override;
  bool counts_from_zero() const override { return true; }

  /// Where the scale of operand i stands; its zero point comes next.
  static constexpr size_t scale_operand(size_t i) { return 4 + 2 * i; }
};

/// One scale for the value, or one for each row of its last axis, known at run time.
bool has_row_scales(const Type& type);

}  // namespace qc
