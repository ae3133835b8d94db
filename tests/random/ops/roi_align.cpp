#include "tests/random/sampling.h"

namespace qc {

void sample_roi_align(Samplers& r) {
  r.add("roi_align", [](Sampling& s) {
    Value* x = s.floats(4, 4);
    const int64_t regions = s.between(1, 3);
    s.emit("roi_align",
           {x, s.constant(DType::f32, {regions, 4}), s.constant(DType::i64, {regions}, -1, 1)},
           {{"rows", s.between(1, 3)},
            {"columns", s.between(1, 3)},
            {"ratio", s.between(0, 2)},
            {"scale", 0.5},
            {"half_pixel", s.chance(50)},
            {"largest", s.chance(50)}});
  });
}

}  // namespace qc
