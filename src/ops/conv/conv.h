#pragma once

#include "interp/eval.h"
#include "ir/border.h"
#include "ir/capability.h"
#include "ir/padding.h"
#include "quant/quantizable.h"

namespace qc {

class Import;

/// The window of a convolution, of floats or codes, forward or transposed.
struct ConvWindow {
  Ints strides, dilations, pads;
  int64_t groups = 1;

  /// Names the attributes; `output_padding` is that of a transposed convolution.
  void visit(AttrVisitor& v, Ints* output_padding = nullptr) {
    v("strides", strides);
    v("dilations", dilations);
    v("pads", pads);
    if (output_padding) v("output_padding", *output_padding);
    v("groups", groups, int64_t{1});
  }
};

/// The convolution with a border of zeros in its pads, without operands; null where it cannot.
template <class Conv>
std::unique_ptr<Node> conv_with_border(const Conv& conv, const Border& border) {
  std::optional<Ints> pads = pads_with(conv.pads, border);
  if (!border.zero || !pads) return nullptr;
  auto made = conv.clone();
  static_cast<Conv&>(*made).pads = std::move(*pads);
  return made;
}

/// The window of an ONNX convolution of operands 0 and 1, as attributes.
Result<AttrMap> onnx_conv_window(const Import& m);

/// In which order a float convolution sums its products; kernels/conv/conv.h states them.
///   "taps"      one chain from the bias on, input channels innermost
///   "channels"  chains of `block` products, input channels outermost, the bias last
///   "quads"     the same of four rounded products; a rest of three is two and one
struct SumOrder {
  std::string order = "taps";
  int64_t block = 0;

  bool is_standard() const { return order == "taps"; }
  void visit(AttrVisitor& v) {
    v("order", order, std::string("taps"));
    v("block", block, int64_t{0});
  }
  Result<Ok> check(const Node& node) const;
};

/// Convolution over one to three spatial axes: x [n, ic, ...], w [oc, ic/groups, ...], optional
/// bias [oc]; the result is limited to [lo, hi].
class Conv final : public OpNode<Conv>,
                   public ConvWindow,
                   public EvaluatesFast,
                   public AbsorbsScaleShift,
                   public AbsorbsClamp,
                   public Quantizable,
                   public TakesBorder,
                   public TakesPadding {
 public:
  static const OpInfo kInfo;
  double lo = -kInf, hi = kInf;
  SumOrder sum;
  Dims valid;  // of each spatial axis: elements from here on count as outside; empty: none do

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

  int64_t output_channel_axis() const override { return 1; }
  Result<bool> absorb_after(Graph& graph, Value* scale, Value* shift) override;
  Result<bool> absorb_before(Graph& graph, Value* scale, Value* shift) override;
  bool absorb_clamp(IsClamp::Limits limits) override;

  bool prepare(const Quantizer& q) override;
  Result<Value*> quantized(Quantizer& q) const override;
  int weight_operand() const override { return 1; }
  bool takes_row_scales() const override { return false; }
  int bias_operand() const override { return 2; }
};

/// Transposed convolution: x [n, ic, ...], w [ic, oc/groups, ...], optional bias [oc].
class ConvTranspose final : public OpNode<ConvTranspose>,
                            public ConvWindow,
                            public AbsorbsScaleShift,
                            public AbsorbsClamp,
                            public Quantizable,
                            public TakesPadding {
 public:
  static const OpInfo kInfo;
  Ints output_padding;
  double lo = -kInf, hi = kInf;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override { return c.rows(1); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  int64_t macs() const override;
  int64_t output_channel_axis() const override { return 1; }
  Result<bool> absorb_after(Graph& graph, Value* scale, Value* shift) override;
  Result<bool> absorb_before(Graph& graph, Value* scale, Value* shift) override;
  bool absorb_clamp(IsClamp::Limits limits) override;

  Result<Value*> quantized(Quantizer& q) const override;
  int weight_operand() const override { return 1; }
  bool takes_row_scales() const override { return false; }
  int64_t weight_channel_axis() const override { return 1; }
  int64_t weight_sum_axis() const override { return 0; }
  int bias_operand() const override { return 2; }
};

}  // namespace qc
