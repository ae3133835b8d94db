#pragma once

#include "ir/padding.h"
#include "ops/quantize/epilogue.h"

namespace qc {

/// The number kernels know the attribute `zero` by.
int32_t softmax_zero_mode(const std::string& zero);
/// Checks the operand and the attributes of a softmax.
Result<Ok> check_softmax(const Node& node, int64_t axis, const std::string& zero);
/// y = softmax of x along an axis, or its logarithm.
Result<Ok> softmax_rows(const Tensor& x, int64_t axis, bool log, int32_t zero, Tensor& y,
                        const Loc& loc);

/// softmax computed in f32 whose result is codes; kernels/softmax/softmax.h.
class SoftmaxQuantize final : public OpNode<SoftmaxQuantize>,
                              public TakesPadding,
                              public EndsInCodes {
 public:
  explicit SoftmaxQuantize(bool dynamic) { epilogue.dynamic = dynamic; }
  static const OpInfo kStatic, kDynamic;
  int64_t axis = -1;
  std::string zero = "none";

  const OpInfo& info() const override { return epilogue.dynamic ? kDynamic : kStatic; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

}  // namespace qc
