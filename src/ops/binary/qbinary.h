// Sums, differences and products of codes.
#pragma once

#include "ops/common/codes.h"
#include "program/strided_alias.h"

namespace qc {

enum class QBinaryKind : uint8_t { add, sub, mul };

struct QBinaryOp {
  QBinaryKind kind;
  OpInfo info;
};

/// The formula by which two codes become one.
struct CodeFormula {
  /// How codes are combined; docs/arithmetic.md has the formulas.
  enum class Way : uint8_t { exact, ort, f32, q31 };
  bool product = false;  // else a sum
  Way way = Way::exact;
  bool swapped = false;                        // the formula's operand a is the node's operand 1
  int32_t type_a = 0, type_b = 0, type_y = 0;  // as kernels/common/codes.h numbers them
  int32_t za = 0, zb = 0, zero = 0, lo = 0, hi = 0, lowest = 0;
  float ra = 0, rb = 0, shift = 0, divisor = 0;
  int32_t reciprocal = 0, ma = 0, mb = 0, mshift = 0;

  int32_t operator()(int32_t a, int32_t b) const;

  /// Sets what kernels have in their parameters.
  template <class Params>
  void fill(Params& p) const {
    p.type_a = type_a;
    p.type_b = type_b;
    p.type_y = type_y;
    p.za = za;
    p.zb = zb;
    p.zero = zero;
    p.lo = lo;
    p.hi = hi;
    p.lowest = lowest;
    p.ra = ra;
    p.rb = rb;
    p.shift = shift;
    p.divisor = divisor;
    p.reciprocal = reciprocal;
    p.ma = ma;
    p.mb = mb;
    p.mshift = mshift;
  }
};
/// For operands of types a and b; their shapes decide which operand ONNX Runtime takes as first.
CodeFormula code_formula(QBinaryKind kind, const Type& a, const Type& b, const QType& to,
                         const Arithmetic& arithmetic, int64_t lo = kNoLowCode,
                         int64_t hi = kNoHighCode);

/// y = codes of a + b, a - b or a * b with broadcasting, limited to the codes [lo, hi]. Every
/// operand and the result have a format of their own; docs/arithmetic.md has the formulas.
class QBinary final : public QuantNodeBase<QBinary>, public TakesStrides {
 public:
  explicit QBinary(const QBinaryOp* op) : op_(op) {}
  int64_t lo = kNoLowCode, hi = kNoHighCode;

  const OpInfo& info() const override { return op_->info; }
  void attrs(AttrVisitor& v) override {
    QuantNodeBase::attrs(v);
    v("lo", lo, kNoLowCode);
    v("hi", hi, kNoHighCode);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool counts_from_zero() const override {
    return parsed_arithmetic().combine != Arithmetic::Combine::onnxruntime;
  }
  Result<Ok> store_unsigned(Graph& graph, bool operand, bool results) override;
  bool takes_strides(size_t, const Dims&) const override { return output()->rank() <= 8; }
  CodeFormula formula() const {
    return code_formula(op_->kind, input_type(0), input_type(1), to, parsed_arithmetic(), lo, hi);
  }

 private:
  const QBinaryOp* op_;
};

/// The op of that kind, for Binary::quantized.
std::span<const QBinaryOp> qbinary_ops();

}  // namespace qc
