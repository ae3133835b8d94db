#include "tests/random/sampling.h"

namespace qc {

void sample_activation(Samplers& r) {
  r.add("activation_quantize", [](Sampling& s) {
    std::vector<Value*> inputs{s.floats(0, 4)};
    if (s.chance(50)) inputs.push_back(inputs[0]);
    s.emit("activation_quantize", inputs,
           {{"fn",
             s.pick<std::string>({"silu", "gelu", "gelu_tanh", "gelu_quick", "sigmoid", "tanh"})},
            {"to", s.format()},
            {"arithmetic", s.arithmetic()}});
  });
  r.add("activation_quantize_dynamic", [](Sampling& s) {
    s.emit("activation_quantize_dynamic", {s.floats(1, 4)},
           {{"fn", s.pick<std::string>({"silu", "gelu"})},
            {"to", DType::i8},
            {"symmetric", s.chance(50)},
            {"per_token", s.chance(50)}});
  });
}

}  // namespace qc
