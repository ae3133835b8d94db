#include <algorithm>

#include "tests/random/sampling.h"

namespace qc {

void sample_pad(Samplers& r) {
  r.add("pad", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    static const std::vector<std::string> kModes = {"constant", "constant", "reflect", "edge",
                                                    "wrap"};
    const std::string mode = s.pick(kModes);
    Ints before, after;
    for (const Dim& d : x->shape()) {
      const int64_t most = mode == "constant" ? 3 : std::min<int64_t>(2, d.value() - 1);
      before.push_back(s.between(0, most));
      after.push_back(s.between(0, most));
    }
    s.emit("pad", {x}, {{"before", before}, {"after", after}, {"mode", mode}});
  });
}

}  // namespace qc
