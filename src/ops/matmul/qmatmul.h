#pragma once

#include "interp/eval.h"
#include "ir/any_order.h"
#include "ir/padding.h"
#include "quant/merging.h"
#include "quant/quant_node.h"

namespace qc {

/// Codes x [..., k] times constant codes w [n, k] transposed: exact accumulators, one rounding.
/// Operands x, w, optional bias [n] (i32 or i64 codes of the accumulators, or f32) and, where x
/// carries them, its scale and zero point: one, or one per row. kernels/qtile/output.h states how
/// accumulators become results.
///
/// With floats x it is what linear is on decoded weights, bit for bit, and the weights stay codes:
/// they may have a scale per group of inputs too.
class QLinear final : public WeightedQuantNode<QLinear>,
                      public EvaluatesFast,
                      public AccumulatesInAnyOrder,
                      public JoinsProducts,
                      public TakesPadding {
 public:
  static const OpInfo kInfo;

  const OpInfo& info() const override { return kInfo; }
  std::string_view unmerged_because() const override;
  std::vector<InCommon> in_common() const override;
  Result<Node*> join(Graph& graph, const std::vector<Node*>& products, Node* before) const override;
  Result<Ok> pad(PaddedNode& c) override { return c.rows(c.resolved(-1)); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> eval_fast(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  AccumulatorProof accumulator() const override;
  /// Floats x, codes of weights.
  bool is_weight_only() const { return !input_type(0).format; }
  int any_order_weights() const override { return is_weight_only() ? -1 : 1; }
};

/// The product of two values of codes with NumPy's rules: operands a, b, none, and where a carries
/// them its scale and zero point. b has one scale.
class QMatMul final : public QuantNodeBase<QMatMul>, public EvaluatesFast, public TakesPadding {
 public:
  static const OpInfo kInfo;
  bool transpose_b = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> eval_fast(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  AccumulatorProof accumulator() const override;
  bool counts_from_zero() const override { return true; }
};

/// The same rows times constant codes of 8 bits w [e, k, n] with one scale, or one per n, and zero
/// point 0: operands x, w, offsets and, where x carries them, its scale and zero point.
class QGroupedMatMul final : public QuantNodeBase<QGroupedMatMul>, public EvaluatesFast {
 public:
  static const OpInfo kInfo;

  const OpInfo& info() const override { return kInfo; }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> eval_fast(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  AccumulatorProof accumulator() const override;
  bool counts_from_zero() const override { return true; }
};

/// A constant matrix of codes with its axes swapped, computed when it is needed.
Value* swapped_codes(Graph& graph, Value* codes);

}  // namespace qc
