#include "tests/random/sampling.h"

namespace qc {

void sample_clamp(Samplers& r) {
  r.add("clamp", [](Sampling& s) {
    static const std::vector<DType> kTypes = {DType::f32, DType::f32, DType::f32, DType::i32,
                                              DType::f16};
    AttrMap attrs{{"lo", static_cast<double>(s.between(-2, 0))}};
    if (s.chance(50)) attrs["hi"] = static_cast<double>(s.between(1, 3));
    s.emit("clamp", {s.value(s.pick(kTypes), 0, 5)}, attrs);
  });
}

}  // namespace qc
