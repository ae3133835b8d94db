#include "tests/random/products.h"
#include "tests/random/sampling.h"

namespace qc {

namespace {

struct Window {
  Ints weight;
  int64_t outputs = 0;
  AttrMap attrs;
};

/// Weights and window for any value of rank 3 to 5, with groups where its channels divide.
Window sample_window(Sampling& s, const Ints& shape, bool transposed) {
  const int64_t channels = shape[1];
  int64_t groups = 1;
  if (s.chance(40))
    groups = channels;
  else if (channels % 2 == 0 && s.chance(30))
    groups = 2;
  const int64_t per_group = s.chance(50) ? 1 : s.between(1, 20 / groups + 1);
  Window w;
  w.outputs = groups * per_group;
  w.weight = transposed ? Ints{channels, per_group} : Ints{w.outputs, channels / groups};
  Ints strides, dilations, pads(2 * (shape.size() - 2)), output_padding;
  for (size_t i = 2; i < shape.size(); ++i) {
    w.weight.push_back(s.between(1, 4));
    strides.push_back(s.between(1, 2));
    dilations.push_back(s.between(1, 2));
    output_padding.push_back(0);
    pads[i - 2] = s.between(0, 2);
    pads[i - 2 + shape.size() - 2] = s.between(0, 2);
  }
  w.attrs = {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"groups", groups}};
  if (transposed) w.attrs["output_padding"] = output_padding;
  return w;
}

void add_conv(Sampling& s, bool transposed) {
  const DType dtype = s.float_type();
  Value* x = s.value(dtype, 3, transposed ? 4 : 5);
  Window w = sample_window(s, static_dims(x->shape()), transposed);
  if (s.chance(40)) w.attrs["lo"] = 0.0;
  if (s.chance(20)) w.attrs["hi"] = 6.0;
  if (!transposed && dtype == DType::f32 && s.chance(15)) {
    const bool quads = s.chance(40);
    w.attrs["order"] = std::string(quads ? "quads" : "channels");
    if (!quads) w.attrs["block"] = s.between(1, 40);
  }
  std::vector<Value*> inputs{x, s.constant(dtype, w.weight)};
  if (s.chance(60)) inputs.push_back(s.constant(dtype, {w.outputs}));
  Value* y = s.emit(transposed ? "conv_transpose" : "conv", inputs, w.attrs);
  if (y && s.chance(20)) s.emit("clamp", {y}, {{"lo", -1.0}, {"hi", 2.0}});
}

/// Floats with codes of weights, with one scale, one per output or one per group of inputs.
void add_weight_only(Sampling& s, bool transposed) {
  Value* x = s.floats(3, transposed ? 4 : 5);
  Window w = sample_window(s, static_dims(x->shape()), transposed);
  Value* weights = sample_weights(s, w.weight, transposed ? 1 : 0);
  if (!transposed && s.chance(30)) weights = sample_grouped_weights(s, w.weight);
  std::vector<Value*> inputs{x, weights};
  if (s.chance(60)) inputs.push_back(s.constant(DType::f32, {w.outputs}));
  w.attrs["to"] = QType{};
  s.emit(transposed ? "qconv_transpose" : "qconv", inputs, w.attrs);
}

void add_qconv(Sampling& s, bool transposed) {
  if (s.chance(25)) return add_weight_only(s, transposed);
  Value* x = s.codes(3, transposed ? 4 : 5);
  Window w = sample_window(s, static_dims(x->shape()), transposed);
  sample_accumulators(s, transposed ? "qconv_transpose" : "qconv", x, w.weight, transposed ? 1 : 0,
                      w.outputs, std::move(w.attrs));
}

}  // namespace

void sample_conv(Samplers& r) {
  r.add("conv", [](Sampling& s) { add_conv(s, false); });
  r.add("qconv", [](Sampling& s) { add_qconv(s, false); });
  r.add("qconv_transpose", [](Sampling& s) { add_qconv(s, true); });
  r.add("conv_transpose", [](Sampling& s) { add_conv(s, true); });
}

}  // namespace qc
