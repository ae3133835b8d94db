#pragma once

#include <string>

#include "ir/conversion.h"
#include "ir/index_formula.h"
#include "ir/node.h"

namespace qc {

/// The elements converted to another type by the rules of kernels/numerics/cast.h. `saturate` and
/// `round` matter for the 8-bit floats only.
class Cast final : public OpNode<Cast>, public HasFormula, public ConvertsType {
 public:
  static const OpInfo kInfo;
  DType to = DType::f32;
  bool saturate = true;
  std::string round = "up";  // of f8e8m0: up, down or nearest

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("to", to);
    v("saturate", saturate, true);
    v("round", round, std::string("up"));
  }
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override;
  Result<std::vector<Type>> infer() const override;
  bool is_identity() const override { return to == input_type(0).dtype; }
  std::optional<Dims> contents() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;

 private:
  /// Whether the attributes ask for something else than the plain conversion to `to`.
  bool has_mode() const;
};

/// The same bytes read as another type of the same width.
class BitCast final : public OpNode<BitCast> {
 public:
  static const OpInfo kInfo;
  DType to = DType::f32;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("to", to); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// The same bytes read as another type of another width: the last axis is longer or shorter.
class BitView final : public OpNode<BitView> {
 public:
  static const OpInfo kInfo;
  DType to = DType::f32;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("to", to); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

}  // namespace qc
