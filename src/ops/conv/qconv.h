#pragma once

#include "quant/quant_node.h"

namespace qc {

/// Convolution of codes x with constant codes w, exact sums, one rounding: operands x, w, optional
/// bias (i32 or i64 codes of the sums, or f32) and, where x carries them, its scale and zero point.
/// kernels/c/qgemm/output.h states how sums become results.
class QConv final : public WeightedQuantNode<QConv> {
 public:
  static const OpInfo kInfo;
  Ints strides, dilations, pads;
  int64_t groups = 1;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  AccumulatorProof accumulator() const override;
};

/// Transposed convolution of codes: w [ic, oc/groups, ...], scales along axis 1 being those of each
/// group's outputs.
class QConvTranspose final : public WeightedQuantNode<QConvTranspose> {
 public:
  static const OpInfo kInfo;
  Ints strides, dilations, pads, output_padding;
  int64_t groups = 1;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  AccumulatorProof accumulator() const override;
};

}  // namespace qc
