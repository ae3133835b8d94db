#include "tests/random/sampling.h"

namespace qc {

void sample_activation(Samplers& r) {
  for (bool dynamic : {false, true}) {
    const char* op = dynamic ? "activation_quantize_dynamic" : "activation_quantize";
    r.add(op, [op, dynamic](Sampling& s) {
      std::vector<Value*> inputs{s.floats(1, 4)};
      if (s.chance(50)) inputs.push_back(inputs[0]);
      const auto fn = s.pick<std::string>(
          {"silu", "gelu", "gelu_tanh", "gelu_quick", "sigmoid", "tanh", "relu"});
      s.emit(op, inputs, s.epilogue(dynamic, {{"fn", fn}}));
    });
  }
}

}  // namespace qc
