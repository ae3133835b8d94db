#include "tests/random/sampling.h"

namespace qc {

void sample_grid_sample(Samplers& r) {
  r.add("grid_sample", [](Sampling& s) {
    static const std::vector<std::string> kModes = {"nearest", "linear", "cubic"};
    static const std::vector<std::string> kOutside = {"zeros", "border", "reflection"};
    Value* x = s.floats(3, 5);
    Ints grid{x->shape()[0].value()};
    for (int64_t i = 2; i < x->rank(); ++i) grid.push_back(s.between(1, 5));
    grid.push_back(x->rank() - 2);
    s.emit("grid_sample", {x, s.constant(DType::f32, grid)},
           {{"mode", s.pick(kModes)}, {"outside", s.pick(kOutside)}, {"align_corners", s.chance(50)}});
  });
}

}  // namespace qc
