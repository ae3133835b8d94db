#include "tests/random/sampling.h"

namespace qc {

void sample_rotary(Samplers& r) {
  r.add("rotary", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    Ints shape = static_dims(x->shape());
    if (shape.back() % 2 != 0) return;
    const Ints row{shape.back()};
    s.emit("rotary",
           {x, s.constant(DType::f32, shape), s.constant(DType::f32, s.chance(50) ? row : shape)},
           {{"interleaved", s.chance(50)}});
  });
}

}  // namespace qc
