// Ops that make values from sizes and numbers.
#pragma once

#include "ir/index_formula.h"
#include "ir/node.h"
#include "ir/padding.h"

namespace qc {

/// Sizes as an i64 list, or as one number.
class DimsOp final : public OpNode<DimsOp>, public TakesPadding {
 public:
  static const OpInfo kInfo;
  Dims values;
  bool scalar = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("values", values);
    v("scalar", scalar, false);
  }
  /// Numbers that a run computes with: those of its own size.
  Result<Ok> pad(PaddedNode&) override { return Ok{}; }
  Result<std::vector<Type>> infer() const override;
  std::optional<Dims> contents() const override { return values; }
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// start, start + step, ...: `size` numbers.
class Iota final : public OpNode<Iota>, public HasFormula, public TakesPadding {
 public:
  static const OpInfo kInfo;
  Dim start, step = 1, size;
  DType dtype = DType::i64;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("start", start, Dim(0));
    v("step", step, Dim(1));
    v("size", size);
    v("dtype", dtype, DType::i64);
  }
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  std::optional<Dims> contents() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// The operand with zeros below (upper) or above the k-th diagonal of each matrix.
class Trilu final : public OpNode<Trilu>, public TakesPadding {
 public:
  static const OpInfo kInfo;
  bool upper = true;
  int64_t k = 0;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("upper", upper);
    v("k", k, int64_t{0});
  }
  Result<Ok> pad(PaddedNode& c) override { return c.broadcast(); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// A new axis of `depth` elements: operand 1's second element at the index, its first elsewhere.
class OneHot final : public OpNode<OneHot> {
 public:
  static const OpInfo kInfo;
  Dim depth;
  int64_t axis = 0;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("depth", depth);
    v("axis", axis);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

}  // namespace qc
