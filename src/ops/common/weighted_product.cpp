// From a float node between dequantize and quantize nodes to the operands of its integer form.
#include <fmt/format.h>

#include <cmath>

#include "kernels/numerics/quant.h"
#include "ops/common/codes.h"
#include "ops/common/weighted.h"

namespace qc {
namespace {

/// Bias scales within this much of the accumulators' are theirs: what a product in double rounds
/// to.
constexpr float kScaleSlack = 0x1p-20f;
/// Codes of a bias stay below this, so that 64-bit accumulators cannot overflow.
constexpr float kLargestBias = 0x1p+52f;

bool is_code(DType dtype) { return is_integer(dtype) && bits(dtype) <= 16; }

/// Scale of the accumulators of channel c.
float sum_scale(const Format& x, const Format& w, int64_t c) {
  return qn_mulf(x.scale_at(), w.scale_at(c % w.scale.values.size()));
}

/// Contents of a constant bias as floats.
Result<Tensor> float_bias(const Quantizer& q) {
  const ConstantPool& pool = q.graph().pool();
  if (!q.codes(2)) return pool.get(q.node().input(2)->constant());
  QC_ASSIGN(const Tensor codes, pool.get(q.codes(2)->constant()));
  const Format& f = q.format(2);
  Tensor out(DType::f32, codes.shape());
  for (int64_t i = 0; i < codes.size(); ++i) {
    out.mutable_data<float>()[i] =
        qn_dequantize(static_cast<int32_t>(codes.as_int(i)), f.scale_at(i), f.zero_at(i));
  }
  return out;
}

/// Whether the bias is codes of the accumulators already.
bool has_sum_scale(const Quantizer& q, int64_t channels) {
  const Value* codes = q.codes(2);
  if (!codes || codes->dtype() != DType::i32 || q.format(0).is_dynamic()) return false;
  const Format& f = q.format(2);
  for (int64_t c = 0; c < channels; ++c) {
    const float want = sum_scale(q.format(0), q.format(1), c);
    if (f.zero_at(c) != 0 || !(std::abs(f.scale_at(c) - want) <= want * kScaleSlack)) return false;
  }
  return true;
}

/// The bias operand; null with a reason after a refusal.
Result<Value*> bias_operand(Quantizer& q, int64_t channels) {
  const Value* source = q.codes(2) ? q.codes(2) : q.node().input(2);
  if (!source->is_constant()) return q.refuse("its bias is not constant");
  if (has_sum_scale(q, channels)) return q.graph().constant(source->constant());
  QC_ASSIGN(Tensor bias, float_bias(q));
  const Arithmetic& a = q.arithmetic();
  const bool coded =
      q.result() && (a.bias == Arithmetic::Bias::i32 || a.rescale == Arithmetic::Rescale::q31);
  if (coded) return coded_bias(q, q.format(0), q.format(1), bias, q.node().input(2)->name());
  return q.codes(2) ? q.graph().constant(std::move(bias)) : q.node().input(2);
}

}  // namespace

Result<Value*> coded_bias(Quantizer& q, const Format& x, const Format& w, const Tensor& bias,
                          std::string name) {
  std::vector<int64_t> codes;
  bool narrow = true;
  for (int64_t c = 0; c < bias.size(); ++c) {
    const float v = bias.data<float>()[c] / sum_scale(x, w, c);
    if (!(std::abs(v) < kLargestBias)) {
      return q.refuse(
          fmt::format("bias {} is {}, which is {} steps of its sum", c, bias.data<float>()[c], v));
    }
    codes.push_back(static_cast<int64_t>(qn_round_f32(v)));
    narrow = narrow && codes.back() == static_cast<int32_t>(codes.back());
  }
  Tensor out(narrow ? DType::i32 : DType::i64, bias.shape());
  for (size_t c = 0; c < codes.size(); ++c) out.set_int(static_cast<int64_t>(c), codes[c]);
  return q.graph().constant(std::move(out), std::move(name));
}

Result<Ok> check_accumulators(const Node& node, const QType& to, const Arithmetic& arithmetic,
                              bool rows, int64_t channels, bool each) {
  const Type &x = node.input_type(0), &w = node.input_type(1);
  const Loc& loc = node.loc();
  if (!is_code(x.dtype) || bits(x.dtype) < 8 || !is_code(w.dtype)) {
    return error(Code::type, loc, "a product of {} and {} codes", name(x.dtype), name(w.dtype));
  }
  const Format& f = *x.format;
  const bool row_scales = rows && f.is_dynamic() && f.granularity == Granularity::group &&
                          f.axis == x.rank() - 1 && x.shape.back() == Dim(f.group);
  if (f.granularity != Granularity::tensor && !row_scales) {
    return error(Code::quant, loc, "a product needs one scale of its first operand, got {}",
                 str(x));
  }
  if (w.format->is_dynamic() || w.format->granularity == Granularity::group) {
    return error(Code::quant, loc, "a product needs static scales of its weights, got {}", str(w));
  }
  if (f.is_dynamic() != (node.input(3) != nullptr) || (!f.is_dynamic() && node.input(4))) {
    return error(Code::graph, loc, "{} scales as an operand for {}",
                 f.is_dynamic() ? "expected" : "got", str(x));
  }
  for (size_t i : {3, 4}) {
    if (!node.input(i)) continue;
    const Type& t = node.input_type(i);
    const Dim count = row_scales ? product(Dims(x.shape.begin(), x.shape.end() - 1)) : Dim(1);
    if (t.dtype != (i == 3 ? DType::f32 : DType::i32) || !(product(t.shape) == count)) {
      return error(Code::shape, loc, "scales or zero points {} for {}", str(t), str(x));
    }
  }
  if (f.is_dynamic() && to.format) {
    return error(Code::quant, loc, "codes as the result of operands with scales known at run time");
  }
  if (to.format && (!is_code(to.dtype) || bits(to.dtype) < 8 || to.format->is_dynamic() ||
                    to.format->granularity > (each ? Granularity::axis : Granularity::tensor))) {
    return error(Code::quant, loc, "the result of a product needs one static scale{}, got {}",
                 each ? ", or one for each channel" : "", str(to));
  }
  if (!node.input(2)) return Ok{};
  const Type& b = node.input_type(2);
  if (b.dtype == DType::f32 && !to.format && to.dtype != DType::f32) {
    return error(Code::type, loc, "a float bias of accumulators that stay {}", name(to.dtype));
  }
  if (b.format || b.shape != Dims{Dim(channels)} ||
      (b.dtype != DType::f32 && b.dtype != DType::i32 && b.dtype != DType::i64)) {
    return error(Code::shape, loc, "bias of {} accumulators is {}", channels, str(b));
  }
  if (b.dtype != DType::f32 && f.is_dynamic()) {
    return error(Code::type, loc, "a bias of {} for accumulators whose scale is known at run time",
                 name(b.dtype));
  }
  if (!node.input(2)->is_constant()) return error(Code::unsupported, loc, "bias is not constant");
  if (b.dtype == DType::f32 && to.format && arithmetic.rescale == Arithmetic::Rescale::q31) {
    return error(Code::quant, loc, "a float bias with rescale=q31");
  }
  return Ok{};
}

Result<Ok> check_weight_axis(const Node& node, int64_t channel_axis) {
  const Format& f = *node.input_type(1).format;
  if (f.granularity == Granularity::tensor || f.axis == channel_axis) return Ok{};
  return error(Code::quant, node.loc(), "weights with scales along axis {} instead of {}", f.axis,
               channel_axis);
}

namespace {
bool decodes(const Format& f, int64_t channel_axis) {
  if (f.granularity == Granularity::group) return channel_axis == 0 && f.axis == 1;
  return f.granularity == Granularity::tensor || f.axis == channel_axis;
}
}  // namespace

Result<Ok> check_weight_only(const Node& node, const QType& to, int64_t channel_axis,
                             const Dim& outputs) {
  const Type& w = node.input_type(1);
  const Format& f = *w.format;
  const Loc& loc = node.loc();
  if (node.input_type(0).dtype != DType::f32 || to.format || to.dtype != DType::f32) {
    return error(Code::type, loc, "codes of weights need f32 values and give them, got {} and {}",
                 name(node.input_type(0).dtype), str(to));
  }
  if (!is_integer(w.dtype) || bits(w.dtype) > 8 || f.is_dynamic()) {
    return error(Code::type, loc, "weights of {}", str(w));
  }
  if (!decodes(f, channel_axis)) {
    return error(Code::quant, loc, "weights need scales per index of axis {}{}, got axis {}",
                 channel_axis, channel_axis == 0 ? " or per group along axis 1" : "", f.axis);
  }
  if (node.input(3) || node.input(4)) return error(Code::graph, loc, "scales of plain values");
  if (!node.input(2)) return Ok{};
  const Type& b = node.input_type(2);
  if (b.dtype != DType::f32 || b.format || b.shape != Dims{outputs}) {
    return error(Code::shape, loc, "bias of {} outputs is {}", outputs.str(), str(b));
  }
  return Ok{};
}

Result<std::optional<QuantizedProduct>> quantized_product(Quantizer& q) {
  const auto refuse = [&](std::string reason) {
    q.refuse(std::move(reason));
    return std::optional<QuantizedProduct>();
  };
  if (!q.codes(0)) return refuse("its operand is not quantized");
  if (!q.codes(1)) return refuse("its weights are not quantized");
  const DType x_type = q.codes(0)->dtype(), w_type = q.codes(1)->dtype();
  if (!is_code(x_type) || bits(x_type) < 8 || !is_code(w_type)) {
    return refuse(fmt::format("codes of {} and {}", name(x_type), name(w_type)));
  }
  if (q.result() && (q.result()->format->granularity != Granularity::tensor ||
                     bits(q.result()->dtype) > 16 || bits(q.result()->dtype) < 8)) {
    return refuse("its result has more than one scale");
  }
  const Format& x = q.format(0);
  if (x.is_dynamic() && q.result()) {
    return refuse("the scale of its operand is known at run time only");
  }
  if (!x.is_dynamic() && x.granularity != Granularity::tensor) {
    return refuse("its operand has more than one scale");
  }
  QuantizedProduct product;
  product.inputs = {q.codes(0), q.codes(1)};
  if (x.is_dynamic()) {
    product.inputs.push_back(nullptr);
    product.inputs.push_back(q.scale(0));
    if (q.zero_point(0)) product.inputs.push_back(q.zero_point(0));
  }
  product.attrs["to"] = q.result() ? *q.result() : QType{};
  product.attrs["arithmetic"] = str(q.arithmetic());
  return std::optional(std::move(product));
}

Result<std::optional<QuantizedProduct>> weighted_product(Quantizer& q, int64_t channel_axis,
                                                         const Dim& channels, double lo,
                                                         double hi) {
  QC_ASSIGN(auto product, quantized_product(q));
  if (!product) return product;
  const auto refuse = [&](std::string reason) {
    q.refuse(std::move(reason));
    return std::optional<QuantizedProduct>();
  };
  const Format& w = q.format(1);
  if (!q.codes(1)->is_constant()) return refuse("its weights are not constant");
  if (q.codes(1)->dtype() == DType::u16) return refuse("its weights are codes of u16");
  if (w.granularity == Granularity::group) {
    return refuse("its weights have a scale per group, which only float activations can use");
  }
  if (w.granularity != Granularity::tensor &&
      (w.granularity != Granularity::axis || w.axis != channel_axis)) {
    return refuse(fmt::format("its weights have scales along another axis than {}", channel_axis));
  }
  if (q.node().input(2)) {
    QC_ASSIGN(Value * bias, bias_operand(q, channels.value()));
    if (!bias) return std::optional<QuantizedProduct>();
    if (product->inputs.size() > 2) {
      product->inputs[2] = bias;
    } else {
      product->inputs.push_back(bias);
    }
  }
  const Arithmetic& a = q.arithmetic();
  if (q.result() && lo > -kInf) product->attrs["lo"] = limit_code(lo, *q.result(), a);
  if (q.result() && hi < kInf) product->attrs["hi"] = limit_code(hi, *q.result(), a);
  return product;
}

Result<Value*> emit_product(Quantizer& q, std::string_view op, QuantizedProduct product, double lo,
                            double hi) {
  QC_ASSIGN(Value * y, q.emit(op, std::move(product.inputs), std::move(product.attrs)));
  if (q.result() || (lo == -kInf && hi == kInf)) return y;
  return q.emit("clamp", {y}, {{"lo", lo}, {"hi", hi}});
}

bool decodes_weights(const Quantizer& q) {
  if (!q.codes(1) || !q.codes(1)->is_constant()) return false;
  return !q.codes(0) || q.format(1).granularity == Granularity::group;
}

Result<Value*> weight_only_product(Quantizer& q, std::string_view op, Value* weights, AttrMap attrs,
                                   double lo, double hi, int64_t channel_axis) {
  if (!decodes(*weights->type().format, channel_axis)) {
    return q.refuse("its weights have scales along another axis than outputs or groups of inputs");
  }
  if (bits(weights->dtype()) > 8) return q.refuse("its operand is not quantized");
  if (q.result()) return q.refuse("its operand is not quantized, but its result is");
  QuantizedProduct product;
  product.inputs = {q.node().input(0), weights};
  if (q.node().input(2)) product.inputs.push_back(q.node().input(2));
  product.attrs = std::move(attrs);
  product.attrs["to"] = QType{};
  return emit_product(q, op, std::move(product), lo, hi);
}

}  // namespace qc
