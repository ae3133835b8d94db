#include "tests/random/sampling.h"

namespace qc {

namespace {

/// Weights for any value of rank 3 to 5, with groups where its channels divide.
void add_conv(Sampling& s, bool transposed) {
  Value* x = s.floats(3, transposed ? 4 : 5);
  const Ints shape = static_dims(x->shape());
  const int64_t channels = shape[1];
  int64_t groups = 1;
  if (s.chance(40))
    groups = channels;
  else if (channels % 2 == 0 && s.chance(30))
    groups = 2;
  const int64_t per_group = s.chance(50) ? 1 : s.between(1, 20 / groups + 1);
  Ints weight =
      transposed ? Ints{channels, per_group} : Ints{groups * per_group, channels / groups};
  Ints strides, dilations, pads(2 * (shape.size() - 2)), output_padding;
  for (size_t i = 2; i < shape.size(); ++i) {
    weight.push_back(s.between(1, 4));
    strides.push_back(s.between(1, 2));
    dilations.push_back(s.between(1, 2));
    output_padding.push_back(0);
    pads[i - 2] = s.between(0, 2);
    pads[i - 2 + shape.size() - 2] = s.between(0, 2);
  }
  AttrMap attrs{{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"groups", groups}};
  if (transposed) attrs["output_padding"] = output_padding;
  if (s.chance(40)) attrs["lo"] = 0.0;
  if (s.chance(20)) attrs["hi"] = 6.0;
  std::vector<Value*> inputs{x, s.constant(DType::f32, weight)};
  if (s.chance(60)) inputs.push_back(s.constant(DType::f32, {groups * per_group}));
  s.emit(transposed ? "conv_transpose" : "conv", inputs, attrs);
}

}  // namespace

void sample_conv(Samplers& r) {
  r.add("conv", [](Sampling& s) { add_conv(s, false); });
  r.add("conv_transpose", [](Sampling& s) { add_conv(s, true); });
}

}  // namespace qc
