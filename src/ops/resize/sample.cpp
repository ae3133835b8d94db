#include "tests/random/sampling.h"

namespace qc {

void sample_resize(Samplers& r) {
  r.add("resize", [](Sampling& s) {
    static const std::vector<std::string> kModes = {"nearest", "linear", "cubic"};
    static const std::vector<std::string> kCoordinates = {"half_pixel", "asymmetric", "align_corners",
                                                          "pytorch_half_pixel", "half_pixel_symmetric",
                                                          "single_asymmetric"};
    static const std::vector<std::string> kRounding = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    Value* x = s.floats(3, 5);
    Ints size = static_dims(x->shape());
    for (size_t i = 2; i < size.size(); ++i) size[i] = s.between(1, 2 * size[i] + 1);
    s.emit("resize", {x}, {{"size", size}, {"mode", s.pick(kModes)}, {"coordinates", s.pick(kCoordinates)},
                           {"rounding", s.pick(kRounding)}, {"antialias", s.chance(30)},
                           {"exclude_outside", s.chance(30)}});
  });
}

}  // namespace qc
