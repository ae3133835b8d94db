// Ops that write into a copy of their first operand. A negative index counts from the end; an
// update whose index is still outside its axis is dropped, in the interpreter and in generated
// code.
#pragma once

#include "ir/indices.h"
#include "ir/node.h"
#include "ops/common/range.h"

namespace qc {

/// Operand 2 written over operand 0 at the places along `axis` listed in operand 1, one by one.
class ScatterElements final : public OpNode<ScatterElements>, public TakesIndices {
 public:
  static const OpInfo kInfo;
  int64_t axis = 0;
  std::string reduction = "none";  // none, add, mul, max, min

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("axis", axis);
    v("reduction", reduction, std::string("none"));
  }
  IndexOperand index_operand() const override {
    return {1, {input_type(0).shape[static_cast<size_t>(axis)]}};
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// Operand 2 written over operand 0 at the tuples of indices along the last axis of operand 1.
class ScatterNd final : public OpNode<ScatterNd>, public TakesIndices {
 public:
  static const OpInfo kInfo;
  std::string reduction = "none";

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("reduction", reduction, std::string("none")); }
  IndexOperand index_operand() const override {
    const auto first = input_type(0).shape.begin();
    return {1, Dims(first, first + input_type(1).shape.back().value())};
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// Operand 1 written over a regular part of operand 0.
class SliceScatter final : public OpNode<SliceScatter> {
 public:
  static const OpInfo kInfo;
  Dims start, step;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("start", start);
    v("step", step);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// Operand 1 written over elements of the row-major operand 0 with the given strides and offset.
class StridedScatter final : public OpNode<StridedScatter> {
 public:
  static const OpInfo kInfo;
  Dims stride;
  Dim offset;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("stride", stride);
    v("offset", offset, Dim(0));
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

}  // namespace qc
