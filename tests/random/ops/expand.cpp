#include "tests/random/sampling.h"

namespace qc {

void sample_expand(Samplers& r) {
  r.add("expand", [](Sampling& s) {
    Value* x = s.floats(0, 4);
    Ints shape = static_dims(x->shape());
    for (int64_t& d : shape) d = d == 1 ? s.between(1, 7) : d;
    if (s.chance(40)) shape.insert(shape.begin(), s.between(1, 3));
    s.emit("expand", {x}, {{"shape", shape}});
  });
  r.add("tile", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    Ints repeats;
    for (int64_t i = 0; i < x->rank(); ++i) repeats.push_back(s.chance(60) ? 1 : s.between(2, 3));
    s.emit("tile", {x}, {{"repeats", repeats}});
  });
}

}  // namespace qc
