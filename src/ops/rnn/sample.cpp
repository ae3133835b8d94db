#include "tests/random/sampling.h"

namespace qc {
namespace {

/// A layer over a value made so far; optional operands come and go.
void add_layer(Sampling& s, const char* op, int64_t gates, AttrMap attrs) {
  Value* x = s.floats(3, 3);
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
  s.emit(op, inputs, attrs);
}

}  // namespace

void sample_rnn(Samplers& r) {
  r.add("rnn", [](Sampling& s) {
    add_layer(
        s, "rnn", 1,
        {{"activations", std::string(s.pick<const char*>({"tanh", "relu", "softsign", "elu"}))}});
  });
  r.add("gru", [](Sampling& s) {
    add_layer(s, "gru", 3, {{"linear_before_reset", s.chance(50)}});
  });
  r.add("lstm", [](Sampling& s) { add_layer(s, "lstm", 4, {{"input_forget", s.chance(30)}}); });
}

}  // namespace qc
