#pragma once

#include <span>

#include "frontends/common/foreign.h"
#include "ir/capability.h"
#include "ir/index_formula.h"
#include "ir/padding.h"
#include "ir/rewrite.h"
#include "ops/attention/scores.h"
#include "program/strided_alias.h"
#include "quant/quantizable.h"

namespace qc {

/// Scaled dot product attention of q [batch, heads, queries, depth] over k [batch, kv heads, keys,
/// depth] and v [batch, kv heads, keys, value depth], with an optional mask that broadcasts to
/// [batch, heads, queries, keys]: bool (true: the key takes part) or f32 (added to the score). The
/// order of float operations is in kernels/attention/attention.h.
class Attention final : public OpNode<Attention>,
                        public AttentionScores,
                        public Quantizable,
                        public TakesMask,
                        public RepeatsOperands,
                        public TakesStrides,
                        public TakesPadding {
 public:
  static const OpInfo kInfo;
  /// A rule wants products of codes: with operands that are decoded codes the node becomes
  /// qattention. Without it they are decoded, as a quantized model says.
  bool on_codes = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    visit(v);
    v("on_codes", on_codes, false);
  }
  /// With the window that the mask is. What a mask hides and what is outside a window have the same
  /// score.
  std::unique_ptr<Node> without_mask(const IndexFormula& mask) const override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;

  bool take(const QScheme& scheme) override;
  Result<Value*> quantized(Quantizer& q) const override;
  bool takes_strides(size_t operand, const Dims&) const override { return operand <= kMask; }
  bool repeats(size_t operand) const override { return operand == kMask; }
  bool is_float_operand(size_t i) const override { return i == kMask; }
};

/// A scale as the attribute has it: 0 for 1 / sqrt(depth), the depth being that of the queries.
double written_scale(double scale, const Value* queries);

std::span<const ImportRow> attention_onnx_rows();
std::span<const ImportRow> attention_aten_rows();
std::span<const Rewrite> attention_rewrites();

}  // namespace qc
