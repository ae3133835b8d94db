#pragma once

#include "quant/quantizable.h"
#include "quant/quantize_epilogue.h"

namespace qc {

/// y = x limited to [lo, hi]; NaN stays NaN. relu is clamp with lo = 0. Of codes, lo and hi are
/// codes.
class Clamp final : public OpNode<Clamp>,
                    public IsClamp,
                    public AbsorbsClamp,
                    public TakesQuantizeEpilogue,
                    public Quantizable {
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
  /// Of 16-bit codes: rescaled to the result's format, then limited; 8-bit codes take a table.
  Result<Value*> quantized(Quantizer& q) const override;
  Result<Node*> with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                              std::string& reason) override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

}  // namespace qc
