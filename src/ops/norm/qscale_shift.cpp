// Batch norm on codes: a depthwise convolution with one tap, whose weights are the codes of the
// factors with a scale for each channel.
#include <algorithm>
#include <cmath>

#include "ops/common/importing.h"
#include "ops/common/weighted.h"
#include "ops/norm/norm.h"
#include "quant/constants.h"

namespace qc {
namespace {

/// The least step of an accumulator, in steps of the result: smaller factors have fewer codes, so
/// that the addend of a channel keeps its digits.
constexpr float kLeastStep = 0x1p-12f;

/// The format of the factors: codes of `type` with a scale for each channel, by which a factor is
/// the largest code of either sign, or less where its accumulators would be finer than kLeastStep.
std::shared_ptr<Format> factor_format(const Tensor& factors, DType type, float x_scale,
                                      float y_scale) {
  const int64_t most = code_range(type).hi;
  const float least = y_scale * kLeastStep / x_scale;
  std::vector<float> scales;
  for (int64_t c = 0; c < factors.size(); ++c) {
    scales.push_back(
        std::max(std::abs(factors.data<float>()[c]) / static_cast<float>(most), least));
  }
  auto out = std::make_shared<Format>();
  out->granularity = Granularity::axis;
  out->axis = 0;
  out->qmin = -most;
  out->qmax = most;
  out->scale = Component::of(Tensor::of<float>(DType::f32, {factors.size()}, scales));
  return out;
}

bool is_finite(const Tensor& x) {
  return std::all_of(x.data<float>(), x.data<float>() + x.size(),
                     [](float v) { return std::isfinite(v); });
}

}  // namespace

Result<Value*> ScaleShiftNode::quantized(Quantizer& q) const {
  if (!q.codes(0) || !q.result()) return q.refuse("its operand or its result is not quantized");
  if (q.arithmetic().combine != Arithmetic::Combine::exact) {
    return q.refuse("this arithmetic computes it in float");
  }
  const Format& x = q.format(0);
  const Format& y = *q.result()->format;
  const DType x_type = q.codes(0)->dtype();
  if (x.granularity != Granularity::tensor || x.is_dynamic() ||
      y.granularity != Granularity::tensor) {
    return q.refuse("its operand and its result need one static scale each");
  }
  if (bits(x_type) < 8 || bits(x_type) > 16 || axis != 1) {
    return q.refuse("its operand has no codes of 8 or 16 bits along axis 1");
  }
  if (!input(1)->is_constant() || !input(2)->is_constant()) {
    return q.refuse("its factors are not constant");
  }
  Graph& graph = q.graph();
  QC_ASSIGN(const Tensor factors, graph.pool().get(input(1)->constant()));
  QC_ASSIGN(const Tensor addends, graph.pool().get(input(2)->constant()));
  if (!is_finite(factors)) return q.refuse("its factors are not finite");
  const DType w_type = bits(x_type) > 8 ? DType::i16 : DType::i8;
  const auto w = factor_format(factors, w_type, x.scale_at(), y.scale_at());
  const Arithmetic& a = q.arithmetic();
  Value* bias = input(2);
  if (a.bias == Arithmetic::Bias::i32 || a.rescale == Arithmetic::Rescale::q31) {
    QC_ASSIGN(bias, coded_bias(q, x, *w, addends, input(2)->name()));
    if (!bias) return bias;
  }
  // A convolution has at least one spatial axis.
  const Dims shape = input_type(0).shape;
  const bool flat = shape.size() == 2;
  const size_t axes = flat ? 1 : shape.size() - 2;
  Value* codes = q.codes(0);
  if (flat) {
    QC_ASSIGN(codes, q.emit("reshape", {codes}, {{"shape", Dims{shape[0], shape[1], Dim(1)}}}));
  }
  Ints weight_shape(axes + 2, 1);
  weight_shape[0] = factors.size();
  Value* weights = quantized_constant(
      graph, graph.constant(factors.reshaped(weight_shape), input(1)->name()), QType{w_type, w});
  const Ints ones(axes, 1);
  QC_ASSIGN(Value * out, q.emit("qconv", {codes, weights, bias},
                                {{"strides", ones},
                                 {"dilations", ones},
                                 {"pads", Ints(2 * axes, 0)},
                                 {"groups", factors.size()},
                                 {"to", *q.result()},
                                 {"arithmetic", str(a)}}));
  return flat ? q.emit("reshape", {out}, {{"shape", shape}}) : out;
}

}  // namespace qc
