#pragma once

#include "ir/padding.h"
#include "ops/quantize/epilogue.h"
#include "program/strided_alias.h"

namespace qc {

/// f(x), or f(x) times a factor, as codes; f is an activation that `fn` names. Operands: x and
/// maybe the factor, of one shape; kernels/activation/activation.h.
class ActivationQuantize final : public OpNode<ActivationQuantize>,
                                 public TakesPadding,
                                 public TakesStrides,
                                 public EndsInCodes {
 public:
  explicit ActivationQuantize(bool dynamic) { epilogue.dynamic = dynamic; }
  static const OpInfo kStatic, kDynamic;
  std::string fn;

  /// The function that a node computes, where there is a kernel for it; else empty.
  static std::string_view computed_by(const Node& node);
  /// The node for `TakesQuantizeEpilogue::with_epilogue` of a node that computes such a function.
  static Result<Node*> fused(const Node& node, const QuantizeEpilogue& epilogue,
                             const InsertPoint& point, std::string& reason);

  const OpInfo& info() const override { return epilogue.dynamic ? kDynamic : kStatic; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool takes_strides(size_t operand, const Dims& strides) const override {
    return are_rows_apart(input_type(operand).shape, strides);
  }
};

}  // namespace qc
