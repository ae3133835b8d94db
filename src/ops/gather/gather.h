// Ops that pick elements by index. A negative index counts from the end; an index that is still
// outside its axis is clamped to the first or last element, in the interpreter and in generated
// code.
#pragma once

#include <span>

#include "frontends/common/foreign.h"
#include "ir/index_formula.h"
#include "ir/indices.h"
#include "ir/node.h"
#include "ir/padding.h"
#include "quant/lifting.h"

namespace qc {

/// Slices of operand 0 along `axis`, at the places listed in operand 1.
class Gather final : public OpNode<Gather>,
                     public HasFormula,
                     public PicksByNumber,
                     public MovesScales,
                     public TakesIndices,
                     public TakesPadding {
 public:
  static const OpInfo kInfo;
  int64_t axis = 0;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("axis", axis, int64_t{0}); }
  /// Of equal elements it does not matter which are picked.
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    return even_formula(in[0], output()->shape().size());
  }
  size_t moved_operands() const override { return 1; }
  Laid laid_over(size_t i, const Format& result) const override;
  std::unique_ptr<Node> scale_mover(const Format& result) const override;
  Dim choices() const override { return input_type(0).shape[static_cast<size_t>(axis)]; }
  IndexOperand index_operand() const override { return {1, {choices()}}; }
  Result<Value*> emit_run(Graph& graph, const NumberRun& run, Node* before) const override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  std::optional<Dims> contents() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// y[..., i, ...] = x[..., index[..., i, ...], ...]: one index per element, along `axis`.
class GatherElements final : public OpNode<GatherElements>,
                             public HasFormula,
                             public TakesIndices,
                             public TakesPadding {
 public:
  static const OpInfo kInfo;
  int64_t axis = 0;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("axis", axis); }
  IndexOperand index_operand() const override {
    return {1, {input_type(0).shape[static_cast<size_t>(axis)]}};
  }
  /// Of equal elements it does not matter which are picked.
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    return even_formula(in[0], output()->shape().size());
  }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// Slices of operand 0 at the tuples along the last axis of operand 1; the first `batch_dims` axes
/// of both run together.
class GatherNd final : public OpNode<GatherNd>, public HasFormula, public TakesIndices {
 public:
  static const OpInfo kInfo;
  int64_t batch_dims = 0;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("batch_dims", batch_dims, int64_t{0}); }
  IndexOperand index_operand() const override {
    const Dims& x = input_type(0).shape;
    const auto first = x.begin() + batch_dims;
    return {1, Dims(first, first + input_type(1).shape.back().value())};
  }
  /// Of equal elements it does not matter which are picked.
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override {
    return even_formula(in[0], output()->shape().size());
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

std::span<const ImportRow> embedding_bag_rows();

}  // namespace qc
