#include "tests/random/sampling.h"

namespace qc {

void sample_nms(Samplers& r) {
  r.add("nms", [](Sampling& s) {
    Value* scores = s.floats(3, 3);
    const Dims& shape = scores->shape();
    Value* boxes = s.constant(DType::f32, {shape[0].value(), shape[2].value(), 4});
    s.emit("nms", {boxes, scores},
           {{"limit", s.between(0, 5)},
            {"overlap", 0.1 * static_cast<double>(s.between(0, 10))},
            {"threshold", s.chance(50) ? 0.0 : -1.0},
            {"limited", s.chance(70)},
            {"center", s.chance(40)}});
  });
}

}  // namespace qc
