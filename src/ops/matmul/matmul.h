#pragma once

#include <span>

#include "interp/eval.h"
#include "ir/capability.h"
#include "ir/padding.h"
#include "ir/rewrite.h"
#include "quant/quantizable.h"
#include "quant/scheme.h"
#include "quant/weight_matrices.h"

namespace qc {

/// Matrix product with NumPy's rules: batches broadcast, a vector is a row (first operand) or a
/// column (second). With `transpose_b` the last two axes of the second operand are swapped.
class MatMul final : public OpNode<MatMul>,
                     public EvaluatesFast,
                     public Quantizable,
                     public MayHaveWeightMatrices,
                     public TakesPadding {
 public:
  static const OpInfo kInfo;
  bool transpose_b = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("transpose_b", transpose_b, false); }
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> eval_fast(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;

  /// With scales found in each run, only beside weights: a product of two activations stays float.
  bool take(const QScheme& scheme) override {
    return scheme.kind == QScheme::Kind::fixed ||
           (scheme.kind == QScheme::Kind::dynamic && weight_matrices());
  }
  bool takes_row_scales() const override { return !weight_matrices(); }
  const Value* weight_matrices() const override {
    const Value* w = input(1);
    return w->is_constant() && w->rank() > 2 && is_float(w->dtype()) ? w : nullptr;
  }
  Result<Value*> quantized(Quantizer& q) const override;
};

/// x [..., k] times w [n, k] transposed, plus an optional bias [n], limited to [lo, hi].
class Linear final : public OpNode<Linear>,
                     public EvaluatesFast,
                     public AbsorbsScaleShift,
                     public AbsorbsClamp,
                     public Quantizable,
                     public TakesPadding {
 public:
  static const OpInfo kInfo;
  double lo = -kInf, hi = kInf;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("lo", lo, -kInf);
    v("hi", hi, kInf);
  }
  Result<Ok> pad(PaddedNode& c) override { return c.rows(c.resolved(-1)); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> eval_fast(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;

  int64_t output_channel_axis() const override { return input_type(0).rank() - 1; }
  Result<bool> absorb_after(Graph& graph, Value* scale, Value* shift) override;
  Result<bool> absorb_before(Graph& graph, Value* scale, Value* shift) override;
  bool absorb_clamp(IsClamp::Limits limits) override;

  Result<Value*> quantized(Quantizer& q) const override;
  int weight_operand() const override { return 1; }
  int bias_operand() const override { return 2; }
};

/// Rows offsets[e-1] to offsets[e] of x [s, k] times w[e] of w [e, k, n]; rows beyond are 0.
class GroupedMatMul final : public OpNode<GroupedMatMul>, public EvaluatesFast, public Quantizable {
 public:
  static const OpInfo kInfo;

  const OpInfo& info() const override { return kInfo; }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> eval_fast(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;

  Result<Value*> quantized(Quantizer& q) const override;
  int weight_operand() const override { return 1; }
  /// One scale for each output, the same for all groups.
  int64_t weight_channel_axis() const override { return 2; }
};

std::span<const Rewrite> matmul_rewrites();

}  // namespace qc
