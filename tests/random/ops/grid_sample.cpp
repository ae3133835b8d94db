#include "tests/random/sampling.h"

namespace qc {

void sample_grid_sample(Samplers& r) {
  r.add("grid_sample", [](Sampling& s) {
    Value* x = s.floats(4, 4);
    static const std::vector<std::string> kModes = {"linear", "nearest", "cubic"};
    static const std::vector<std::string> kOutside = {"zeros", "border", "reflection"};
    Value* grid =
        s.constant(DType::f32, {x->shape()[0].value(), s.between(1, 5), s.between(1, 5), 2});
    s.emit(
        "grid_sample", {x, grid},
        {{"mode", s.pick(kModes)}, {"outside", s.pick(kOutside)}, {"align_corners", s.chance(50)}});
  });
}

}  // namespace qc
