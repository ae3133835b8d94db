#include "ops/common/registration.h"
#include "ops/conv/conv.h"
#include "ops/conv/integer.h"
#include "ops/conv/operands.h"
#include "ops/conv/qconv.h"

namespace qc {
namespace {

/// Sizes of the spatial axes of constant-shaped weights.
Result<Ints> kernel_of(const Import& m, const Value* x, const Value* w) {
  if (!x || !w) return m.fail(Code::graph, "convolution without input or weight");
  if (w->rank() < 3 || w->rank() > 5 || x->rank() != w->rank()) {
    return m.fail(Code::shape, "convolution of {} with weights {}", str(x->shape()),
                  str(w->shape()));
  }
  if (!all_static(w->shape())) {
    return m.fail(Code::dim, "weights of shape {}; bind its dimensions with --dim",
                  str(w->shape()));
  }
  return spatial(w->shape());
}

}  // namespace

Result<AttrMap> onnx_conv_window(const Import& m) {
  QC_ASSIGN(Ints kernel, kernel_of(m, m.in(0), m.in(1)));
  QC_ASSIGN(Ints stated, m.ints("kernel_shape", kernel));
  if (stated != kernel) {
    return m.fail(Code::attribute, "kernel_shape {} differs from the weights {}",
                  str(AttrValue(stated)), str(m.in(1)->shape()));
  }
  QC_ASSIGN(Window w, onnx_window(m, m.in(0), kernel));
  QC_ASSIGN(int64_t groups, m.i("group", 1));
  return AttrMap{
      {"strides", w.strides}, {"dilations", w.dilations}, {"pads", w.pads}, {"groups", groups}};
}

namespace {

Result<Value*> onnx_conv_value(Import& m) {
  QC_ASSIGN(const AttrMap window, onnx_conv_window(m));
  Values inputs{m.in(0), m.in(1)};
  if (m.has(2)) inputs.push_back(m.in(2));
  return m.emit("conv", inputs, window);
}

Result<Values> onnx_conv(Import& m) {
  QC_ASSIGN(Value * y, onnx_conv_value(m));
  return Values{y};
}

/// The activation of com.microsoft's fused ops, with its parameters in `activation_params`.
Result<Value*> activated(const Import& m, Value* x) {
  QC_ASSIGN(std::string name, m.s("activation", ""));
  QC_ASSIGN(Floats p, m.floats("activation_params", {}));
  auto parameter = [&](size_t i, double fallback) { return i < p.size() ? p[i] : fallback; };
  if (name.empty()) return x;
  if (name == "Relu") return m.emit("clamp", {x}, {{"lo", 0.0}});
  if (name == "Clip")
    return m.emit("clamp", {x}, {{"lo", parameter(0, -kInf)}, {"hi", parameter(1, kInf)}});
  if (name == "Tanh") return m.emit("tanh", {x});
  if (name == "Sigmoid") return m.emit("sigmoid", {x});
  if (name == "LeakyRelu") return m.emit("leaky_relu", {x}, {{"alpha", parameter(0, 0.01)}});
  if (name == "HardSigmoid") {
    return m.emit("hard_sigmoid", {x}, {{"alpha", parameter(0, 0.2)}, {"beta", parameter(1, 0.5)}});
  }
  return m.fail(Code::unsupported, "fused activation '{}'", name);
}

Result<Values> fused_conv(Import& m) {
  QC_ASSIGN(Value * y, onnx_conv_value(m));
  if (m.has(3)) {
    QC_ASSIGN(y, m.emit("add", {y, m.in(3)}));
  }
  QC_ASSIGN(y, activated(m, y));
  return Values{y};
}

/// auto_pad and output_shape of a transposed convolution as pads.
Result<Values> onnx_conv_transpose(Import& m) {
  QC_ASSIGN(Ints kernel, kernel_of(m, m.in(0), m.in(1)));
  const size_t axes = kernel.size();
  QC_ASSIGN(Ints strides, per_axis(m, "strides", 1, axes));
  QC_ASSIGN(Ints dilations, per_axis(m, "dilations", 1, axes));
  QC_ASSIGN(Ints extra, per_axis(m, "output_padding", 0, axes));
  QC_ASSIGN(Ints pads, m.ints("pads", Ints(2 * axes, 0)));
  QC_ASSIGN(Ints shape, m.ints("output_shape", {}));
  QC_ASSIGN(std::string automatic, m.s("auto_pad", "NOTSET"));
  QC_ASSIGN(int64_t groups, m.i("group", 1));
  if (shape.size() == axes + 2) shape.erase(shape.begin(), shape.begin() + 2);
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!shape.empty() && shape.size() != axes) {
    return m.fail(Code::attribute, "output_shape has {} entries for {} axes", shape.size(), axes);
  }
  QC_TRY(check_window(kernel, strides, dilations, Ints(2 * axes, 0), axes, m.loc()));
  if (automatic == "VALID") pads.assign(2 * axes, 0);
  if (pads.size() != 2 * axes)
    return m.fail(Code::attribute, "{} pads for {} axes", pads.size(), axes);
  for (size_t i = 0; i < axes && (same || !shape.empty()); ++i) {
    const int64_t reach = dilations[i] * (kernel[i] - 1) + 1;
    int64_t total = reach + extra[i] - strides[i];  // for an output of input * stride
    if (!shape.empty()) {
      const Dim& size = m.in(0)->shape()[2 + i];
      if (!size.is_static() || !fits_window(size.value(), 0) || !fits_window(shape[i], 0)) {
        return m.fail(Code::dim, "output_shape needs a known input size, got {}", size.str());
      }
      total = (size.value() - 1) * strides[i] + extra[i] + reach - shape[i];
    }
    const int64_t half = total > 0 ? total / 2 : 0;
    pads[i] = total <= 0 ? 0 : automatic == "SAME_UPPER" ? half : total - half;
    pads[axes + i] = total - pads[i];
  }
  Values inputs{m.in(0), m.in(1)};
  if (m.has(2)) inputs.push_back(m.in(2));
  QC_ASSIGN(Value * y, m.emit("conv_transpose", inputs,
                              {{"strides", strides},
                               {"dilations", dilations},
                               {"pads", pads},
                               {"output_padding", extra},
                               {"groups", groups}}));
  return Values{y};
}

Result<Values> aten_conv_common(Import& m, bool transposed) {
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(Value * w, m.tensor("weight"));
  QC_ASSIGN(Value * b, m.optional_tensor("bias"));
  const bool single = x->rank() == w->rank() - 1;  // without a batch axis
  if (single) {
    Dims shape = x->shape();
    shape.insert(shape.begin(), Dim(1));
    QC_ASSIGN(x, m.emit("reshape", {x}, {{"shape", shape}}));
  }
  QC_ASSIGN(Ints kernel, kernel_of(m, x, w));
  const size_t axes = kernel.size();
  QC_ASSIGN(Ints strides, per_axis(m, "stride", 1, axes));
  QC_ASSIGN(Ints dilations, per_axis(m, "dilation", 1, axes));
  QC_ASSIGN(int64_t groups, m.i("groups", 1));
  Ints pads(2 * axes, 0);
  const Arg* padding = m.find("padding");
  if (padding && std::holds_alternative<std::string>(*padding)) {
    const std::string& mode = std::get<std::string>(*padding);
    if (mode != "same" && mode != "valid") return m.fail(Code::attribute, "padding is '{}'", mode);
    QC_TRY(check_window(kernel, strides, dilations, pads, axes, m.loc()));
    for (size_t i = 0; i < axes && mode == "same"; ++i) {
      const int64_t total = dilations[i] * (kernel[i] - 1);
      pads[i] = total / 2;
      pads[axes + i] = total - pads[i];
    }
  } else {
    QC_ASSIGN(Ints both, per_axis(m, "padding", 0, axes));
    for (size_t i = 0; i < axes; ++i) pads[i] = pads[axes + i] = both[i];
  }
  AttrMap attrs{{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"groups", groups}};
  if (transposed) {
    QC_ASSIGN(Ints extra, per_axis(m, "output_padding", 0, axes));
    attrs["output_padding"] = extra;
  }
  Values inputs{x, w};
  if (b) inputs.push_back(b);
  Value* y = nullptr;
  if (is_integer(x->dtype()) && !transposed) {
    QC_ASSIGN(y, integer_conv(m, x, w, b, {kernel, strides, dilations, pads}, groups));
  } else {
    QC_ASSIGN(y, m.emit(transposed ? "conv_transpose" : "conv", inputs, attrs));
  }
  if (single) {
    Dims shape = y->shape();
    shape.erase(shape.begin());
    QC_ASSIGN(y, m.emit("reshape", {y}, {{"shape", shape}}));
  }
  return Values{y};
}

Result<Values> aten_conv(Import& m) { return aten_conv_common(m, false); }
Result<Values> aten_conv_transpose(Import& m) { return aten_conv_common(m, true); }
Result<Values> aten_convolution(Import& m) {
  QC_ASSIGN(bool transposed, m.b("transposed", false));
  return aten_conv_common(m, transposed);
}

constexpr ImportRow kRows[] = {
    {"", "Conv", onnx_conv},
    {"", "ConvTranspose", onnx_conv_transpose},
    {"com.microsoft", "FusedConv", fused_conv},
    {"aten", "conv1d.default", aten_conv},
    {"aten", "conv2d.default", aten_conv},
    {"aten", "conv3d.default", aten_conv},
    {"aten", "conv1d.padding", aten_conv},
    {"aten", "conv2d.padding", aten_conv},
    {"aten", "conv3d.padding", aten_conv},
    {"aten", "convolution.default", aten_convolution},
    {"aten", "_convolution.default", aten_convolution},
    {"aten", "_convolution.deprecated", aten_convolution},
    {"aten", "conv_transpose1d.default", aten_conv_transpose},
    {"aten", "conv_transpose2d.input", aten_conv_transpose},
    {"aten", "conv_transpose3d.input", aten_conv_transpose},
};

}  // namespace

void register_conv(Registration& r) {
  r.op<Conv>();
  r.op<QConv>();
  r.op<QConvTranspose>();
  r.op<ConvTranspose>();
  r.imports(kRows);
}

}  // namespace qc
