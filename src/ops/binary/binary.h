#pragma once

#include <span>
#include <string>

#include "frontends/common/foreign.h"
#include "ir/index_formula.h"
#include "quant/quantizable.h"
#include "quant/quantize_epilogue.h"
#include "quant/scores.h"

namespace qc {

/// The scalar function behind one binary op for operands of type T: arithmetic or a comparison.
template <class T>
struct BinaryCase {
  T (*compute)(T, T) = nullptr;
  uint8_t (*compare)(T, T) = nullptr;
};

struct BinaryFunction {
  const char* name = nullptr;
  BinaryCase<float> f32 = {};
  BinaryCase<double> f64 = {};
  BinaryCase<int8_t> i8 = {};
  BinaryCase<int16_t> i16 = {};
  BinaryCase<int32_t> i32 = {};
  BinaryCase<int64_t> i64 = {};
  BinaryCase<uint8_t> u8 = {};
  BinaryCase<uint16_t> u16 = {};
  BinaryCase<uint32_t> u32 = {};
  BinaryCase<uint64_t> u64 = {};
  uint8_t (*boolean)(uint8_t, uint8_t) = nullptr;

  bool is_compare() const { return f32.compare != nullptr; }
  bool is_logical() const { return boolean != nullptr; }
};

struct BinaryOp {
  BinaryFunction function;
  OpInfo info;
  std::string name, summary;
  bool takes_limits = false;  // add, sub, mul: the result may be limited to [lo, hi]
};

/// y = f(a, b) with NumPy broadcasting. Comparisons and logic give bool; eq and ne also take bool.
/// The f32 result of add, sub and mul may be limited to [lo, hi].
class Binary final : public OpNode<Binary>,
                     public HasFormula,
                     public IsScaleShift,
                     public AbsorbsClamp,
                     public Quantizable,
                     public MaySum,
                     public TakesQuantizeEpilogue {
 public:
  double lo = -kInf, hi = kInf;

  explicit Binary(const BinaryOp* op) : op_(op) {}

  const OpInfo& info() const override { return op_->info; }
  void attrs(AttrVisitor& v) override {
    if (!op_->takes_limits) return;
    v("lo", lo, -kInf);
    v("hi", hi, kInf);
  }
  Result<std::vector<Type>> infer() const override;
  std::optional<Dims> contents() const override;
  /// Of sums, differences, products with a number, comparisons, and, or.
  std::optional<IndexFormula> formula(const FormulaOperands& in) const override;
  /// Of x + c, x - c and x * c with a constant c.
  Result<std::optional<ScaleShift>> scale_shift(Graph& graph, int64_t axis) const override;
  bool absorb_clamp(IsClamp::Limits limits) override;
  bool is_sum() const override { return info().name == "add"; }
  bool is_plain_sum() const override { return is_sum() && !is_limited(); }
  /// Of add, sub and mul: qadd, qsub, qmul.
  Result<Value*> quantized(Quantizer& q) const override;
  /// Of the product of an activation and a factor: activation_quantize.
  Result<Node*> with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                              std::string& reason) override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;

 private:
  bool is_limited() const { return lo != -kInf || hi != kInf; }

  const BinaryOp* op_;
};

std::span<const ImportRow> binary_onnx_rows();
std::span<const ImportRow> binary_aten_rows();

}  // namespace qc
