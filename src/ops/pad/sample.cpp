#include "tests/random/sampling.h"

namespace qc {

void sample_pad(Samplers& r) {
  r.add("pad", [](Sampling& s) {
    static const std::vector<std::string> kModes = {"constant", "constant", "reflect", "edge", "wrap"};
    Value* x = s.floats(1, 5);
    Ints before, after;
    for (int64_t i = 0; i < x->rank(); ++i) {
      before.push_back(s.chance(60) ? 0 : s.between(1, 3));
      after.push_back(s.chance(60) ? 0 : s.between(1, 3));
    }
    std::vector<Value*> operands{x};
    const std::string mode = s.pick(kModes);
    if (mode == "constant" && s.chance(50)) operands.push_back(s.constant(DType::f32, {}));
    s.emit("pad", operands, {{"before", before}, {"after", after}, {"mode", mode}});
  });
}

}  // namespace qc
