// Sums, differences and products of codes.
#pragma once

#include "kernels/qbinary/qbinary.h"
#include "ops/common/codes.h"

namespace qc {

enum class QBinaryKind : uint8_t { add, sub, mul };

struct QBinaryOp {
  QBinaryKind kind;
  OpInfo info;
};

/// The formula by which two codes become one: a kernel and its parameters but for the loops.
struct CodeFormula {
  /// How codes are combined: the arithmetics of kernels/qbinary.
  enum class Way : uint8_t { exact, ort, f32, q31 };
  bool product = false;  // else a sum
  Way way = Way::exact;
  bool swapped = false;  // the kernel's operand a is the node's operand 1
  qk_qbinary_params terms = {};

  int32_t operator()(int32_t a, int32_t b) const;
};
/// For operands of types a and b; their shapes decide which operand ONNX Runtime takes as first.
CodeFormula code_formula(QBinaryKind kind, const Type& a, const Type& b, const QType& to,
                         const Arithmetic& record, int64_t lo = kNoLowCode,
                         int64_t hi = kNoHighCode);

/// y = codes of a + b, a - b or a * b with broadcasting, limited to the codes [lo, hi]. Every
/// operand and the result have a format of their own; docs/arithmetic.md has the formulas.
class QBinary final : public BinaryQuantNode<QBinary> {
 public:
  explicit QBinary(const QBinaryOp* op) : op_(op) {}
  int64_t lo = kNoLowCode, hi = kNoHighCode;

  const OpInfo& info() const override { return op_->info; }
  void attrs(AttrVisitor& v) override {
    BinaryQuantNode::attrs(v);
    v("lo", lo, kNoLowCode);
    v("hi", hi, kNoHighCode);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool counts_from_zero() const override {
    return record().combine != Arithmetic::Combine::onnxruntime;
  }
  Result<Ok> store_unsigned(Graph& graph, bool operand, bool results) override;
  CodeFormula formula() const {
    return code_formula(op_->kind, input_type(0), input_type(1), to, record(), lo, hi);
  }

 private:
  const QBinaryOp* op_;
};

/// The op of that kind, for Binary::quantized.
std::span<const QBinaryOp> qbinary_ops();

}  // namespace qc
