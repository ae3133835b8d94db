#pragma once

#include "ir/padding.h"
#include "quant/quantizable.h"
#include "quant/remarks.h"

namespace qc {

/// softmax of 8-bit codes as ONNX Runtime's QLinearSoftmax computes it; kernels/qsoftmax states
/// how.
class QSoftmax final : public QuantNodeBase<QSoftmax>, public HasRemark, public TakesPadding {
 public:
  static const OpInfo kInfo;
  int64_t axis = -1;

  /// Whether codes of type x have this form with a result of type `to`.
  static bool fits(const QType& x, const QType& to);

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    QuantNodeBase::attrs(v);
    v("axis", axis);
  }
  Result<Ok> pad(PaddedNode& c) override { return c.except(axis); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  /// Where 1 is not a whole number of steps: ONNX Runtime rounds it down.
  std::string remark() const override;

 private:
  /// exp of every distance from a row's largest code, as far up as a sum of n of them allows.
  Tensor table(int64_t n) const;
  /// Those of every length in an interval, one after the other.
  Tensor tables(const Bounds& rows) const;
  /// What 1 is in steps of the result, rounded down.
  float steps() const;
};

}  // namespace qc
