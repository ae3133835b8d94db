#pragma once

#include "ir/capability.h"

namespace qc {

/// y = x limited to [lo, hi]; NaN stays NaN. relu is clamp with lo = 0.
class Clamp final : public OpNode<Clamp>, public IsClamp, public AbsorbsClamp {
 public:
  static const OpInfo kInfo;
  double lo = -kInf, hi = kInf;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("lo", lo, -kInf);
    v("hi", hi, kInf);
  }
  Result<std::vector<Type>> infer() const override;
  bool is_identity() const override { return lo == -kInf && hi == kInf; }
  Limits limits() const override { return {lo, hi}; }
  bool absorb_clamp(Limits after) override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

}  // namespace qc
