#pragma once

#include "ir/node.h"

namespace qc {

/// y = x limited to [lo, hi]; NaN stays NaN. relu is clamp with lo = 0.
class Clamp final : public OpNode<Clamp> {
 public:
  static const OpInfo kInfo;
  double lo = -kInf, hi = kInf;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("lo", lo, -kInf);
    v("hi", hi, kInf);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

}  // namespace qc
