#include "quant/constants.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

/// Weights [sides, rows, k] as codes with one scale, or one per row.
Value* weight_codes(Sampling& s, Value* weights) {
  WeightScheme scheme;
  scheme.granularity = s.chance(50) ? Granularity::axis : Granularity::tensor;
  if (s.chance(20)) {
    scheme.dtype = DType::i16;
    scheme.qmin = -32767;
    scheme.qmax = 32767;
  }
  return quantized_constant(s.graph(), weights,
                            weight_format(s.graph(), weights, scheme, 1, 2, {}).value());
}

/// A layer over a value made so far; optional operands come and go.
void add_layer(Sampling& s, const char* op, int64_t gates, AttrMap attrs, bool codes = false) {
  Value* x = codes ? s.codes(3, 3) : s.floats(3, 3);
  const Ints shape = static_dims(x->shape());
  const int64_t hidden = s.between(1, 20), sides = s.chance(30) ? 2 : 1;
  if (shape[0] * shape[1] * shape[2] > 2000) return;
  if (sides == 2)
    attrs["direction"] = std::string("bidirectional");
  else if (s.chance(30))
    attrs["direction"] = std::string("reverse");
  if (s.chance(20)) attrs["clip"] = 0.75;
  std::vector<Value*> inputs{x, s.constant(DType::f32, {sides, gates * hidden, shape[2]}),
                             s.constant(DType::f32, {sides, gates * hidden, hidden})};
  auto optional = [&](DType dtype, const Ints& dims) {
    inputs.push_back(s.chance(60) ? s.constant(dtype, dims, 0, shape[0]) : nullptr);
  };
  optional(DType::f32, {sides, 2 * gates * hidden});
  optional(DType::i32, {shape[1]});
  optional(DType::f32, {sides, shape[1], hidden});
  if (gates == 4) {
    optional(DType::f32, {sides, shape[1], hidden});
    optional(DType::f32, {sides, 3 * hidden});
  }
  if (codes) {
    const QType to = s.format();
    for (size_t i : {1, 2}) inputs[i] = weight_codes(s, inputs[i]);
    if (inputs[5]) inputs[5] = quantized_constant(s.graph(), inputs[5], to);
    attrs["to"] = to;
    attrs["arithmetic"] = s.arithmetic();
  }
  s.emit(op, inputs, attrs);
}

}  // namespace

void sample_rnn(Samplers& r) {
  r.add("rnn", [](Sampling& s) {
    add_layer(
        s, "rnn", 1,
        {{"activations", std::string(s.pick<const char*>({"tanh", "relu", "softsign", "elu"}))}});
  });
  r.add("qrnn", [](Sampling& s) { add_layer(s, "qrnn", 1, {}, true); });
  r.add("qgru", [](Sampling& s) {
    add_layer(s, "qgru", 3, {{"linear_before_reset", s.chance(50)}}, true);
  });
  r.add("qlstm", [](Sampling& s) {
    add_layer(s, "qlstm", 4, {{"input_forget", s.chance(30)}}, true);
  });
  r.add("gru", [](Sampling& s) {
    add_layer(s, "gru", 3, {{"linear_before_reset", s.chance(50)}});
  });
  r.add("lstm", [](Sampling& s) { add_layer(s, "lstm", 4, {{"input_forget", s.chance(30)}}); });
}

}  // namespace qc
