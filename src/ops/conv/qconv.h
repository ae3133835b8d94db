#pragma once

#include "ir/padding.h"
#include "ops/conv/conv.h"
#include "quant/quant_node.h"

namespace qc {

/// Convolution of codes x with constant codes w, exact accumulators, one rounding: operands x, w,
/// optional bias (i32 or i64 codes of the accumulators, or f32) and, where x carries them, its
/// scale and zero point. kernels/qtile/output.h states how accumulators become results.
///
/// With floats x it is what conv is on decoded weights, bit for bit, and the weights stay codes:
/// they may have a scale per group of inputs too.
class QConv final : public WeightedQuantNode<QConv>,
                    public ConvWindow,
                    public EvaluatesFast,
                    public TakesBorder,
                    public TakesPadding {
 public:
  static const OpInfo kInfo;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  std::unique_ptr<Node> with_border(const Border& border) const override {
    return conv_with_border(*this, border);
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> eval_fast(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  AccumulatorProof accumulator() const override;
  /// Floats x, codes of weights.
  bool is_weight_only() const { return !input_type(0).format; }
};

/// Transposed convolution of codes: w [ic, oc/groups, ...], scales along axis 1 being those of each
/// group's outputs. With floats x it is what conv_transpose is on decoded weights.
class QConvTranspose final : public WeightedQuantNode<QConvTranspose>,
                             public ConvWindow,
                             public TakesPadding {
 public:
  static const OpInfo kInfo;
  Ints output_padding;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override { return c.rows(1); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  AccumulatorProof accumulator() const override;
  bool is_weight_only() const { return !input_type(0).format; }
};

}  // namespace qc
