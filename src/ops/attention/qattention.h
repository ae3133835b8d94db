#pragma once

#include "ir/padding.h"
#include "ops/attention/code_attention.h"
#include "ops/quantize/epilogue.h"
#include "program/strided_alias.h"

namespace qc {

/// Attention on codes of 8 bits, kernels/qattention/qattention.h states how: scores from integer
/// products, weights as codes, integer products with v.
class QAttention final : public QuantNodeBase<QAttention>,
                         public CodeAttention,
                         public TakesStrides,
                         public RepeatsOperands,
                         public TakesQuantizeEpilogue,
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
  int64_t macs() const override { return macs_of_codes(*this); }
  AccumulatorProof accumulator() const override { return accumulators(*this); }
  bool counts_from_zero() const override { return true; }
  bool takes_strides(size_t operand, const Dims&) const override {
    return takes_strides_of_codes(*this, operand);
  }
  bool repeats(size_t operand) const override { return operand == kMask; }
  Result<Node*> with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                              std::string& reason) override;
};

/// The same whose floats become codes.
class QAttentionQuantize final : public OpNode<QAttentionQuantize>,
                                 public QuantNode,
                                 public CodeAttention,
                                 public TakesStrides,
                                 public RepeatsOperands,
                                 public TakesPadding,
                                 public EndsInCodes {
 public:
  explicit QAttentionQuantize(bool dynamic) { epilogue.dynamic = dynamic; }
  static const OpInfo kStatic, kDynamic;

  const OpInfo& info() const override { return epilogue.dynamic ? kDynamic : kStatic; }
  const Node& node() const override { return *this; }
  void attrs(AttrVisitor& v) override {
    visit(v);
    epilogue.attrs(v);
  }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override { return macs_of_codes(*this); }
  AccumulatorProof accumulator() const override { return accumulators(*this); }
  bool counts_from_zero() const override { return true; }
  bool takes_strides(size_t operand, const Dims&) const override {
    return takes_strides_of_codes(*this, operand);
  }
  bool repeats(size_t operand) const override { return operand == kMask; }
};

}  // namespace qc
