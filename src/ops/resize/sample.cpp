#include "tests/random/sampling.h"

namespace qc {

void sample_resize(Samplers& r) {
  r.add("resize", [](Sampling& s) {
    Value* x = s.floats(3, 4);
    Ints size = static_dims(x->shape());
    for (size_t i = 2; i < size.size(); ++i) size[i] = s.between(1, 2 * size[i] + 1);
    static const std::vector<std::string> kModes = {"nearest", "linear", "cubic"};
    static const std::vector<std::string> kCoordinates = {"half_pixel", "asymmetric",
                                                          "align_corners"};
    s.emit("resize", {x},
           {{"size", size},
            {"mode", s.pick(kModes)},
            {"coordinates", s.pick(kCoordinates)},
            {"antialias", s.chance(15)}});
  });
}

}  // namespace qc
