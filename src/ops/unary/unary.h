#pragma once

#include <span>
#include <string>

#include "frontends/common/foreign.h"
#include "ir/index_formula.h"
#include "ir/rewrite.h"
#include "quant/quantize_epilogue.h"

namespace qc {

/// The scalar function behind one unary op, per type it computes in; null where it has none.
struct UnaryFunction {
  const char* name = nullptr;
  float (*f32)(float) = nullptr;
  double (*f64)(double) = nullptr;
  int8_t (*i8)(int8_t) = nullptr;
  int16_t (*i16)(int16_t) = nullptr;
  int32_t (*i32)(int32_t) = nullptr;
  int64_t (*i64)(int64_t) = nullptr;
  uint8_t (*u8)(uint8_t) = nullptr;
  uint16_t (*u16)(uint16_t) = nullptr;
  uint32_t (*u32)(uint32_t) = nullptr;
  uint64_t (*u64)(uint64_t) = nullptr;
  // With up to two parameters, "_" for one that is unused.
  float (*scaled_f32)(float, float, float) = nullptr;
  double (*scaled_f64)(double, double, double) = nullptr;
  const char* a = "_";
  const char* b = "_";
  // With a truth value.
  int (*test_f32)(float) = nullptr;
  int (*test_f64)(double) = nullptr;

  bool is_test() const { return test_f32 != nullptr; }
  bool is_scaled() const { return scaled_f32 != nullptr; }
};

/// One op of the family: a function with its registry entry and the defaults of its parameters.
struct UnaryOp {
  UnaryFunction function;
  OpInfo info;
  std::string summary;
  double a = 0, b = 0;
};

/// y = f(x) for every element; f is the op's name. Parameters are rounded to f32.
class Unary final : public OpNode<Unary>, public HasFormula, public TakesQuantizeEpilogue {
 public:
  explicit Unary(const UnaryOp* op) : a(op->a), b(op->b), op_(op) {}
  double a = 0, b = 0;

  const OpInfo& info() const override { return op_->info; }
  void attrs(AttrVisitor& v) override;
  /// Of neg.
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override;
  Result<std::vector<Type>> infer() const override;
  std::optional<Dims> contents() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  /// Of activations: activation_quantize.
  Result<Node*> with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                              std::string& reason) override;

 private:
  const UnaryOp* op_;
};

/// Logical not of bool elements.
class LogicalNot final : public OpNode<LogicalNot>, public HasFormula {
 public:
  static const OpInfo kInfo;
  const OpInfo& info() const override { return kInfo; }
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

std::span<const ImportRow> unary_onnx_rows();
std::span<const ImportRow> unary_aten_rows();
std::span<const Rewrite> unary_rewrites();

}  // namespace qc
