#pragma once

#include "ir/node.h"

namespace qc {

/// Convolution over one to three spatial axes: x [n, ic, ...], w [oc, ic/groups, ...], optional bias
/// [oc]; the result is limited to [lo, hi]. kernels/c/conv/conv.h states the order of operations.
class Conv final : public OpNode<Conv> {
 public:
  static const OpInfo kInfo;
  Ints strides, dilations, pads;
  int64_t groups = 1;
  double lo = -kInf, hi = kInf;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
};

/// Transposed convolution: x [n, ic, ...], w [ic, oc/groups, ...], optional bias [oc].
class ConvTranspose final : public OpNode<ConvTranspose> {
 public:
  static const OpInfo kInfo;
  Ints strides, dilations, pads, output_padding;
  int64_t groups = 1;
  double lo = -kInf, hi = kInf;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
};

}  // namespace qc
