#include "tests/random/sampling.h"

namespace qc {

void sample_gather(Samplers& r) {
  r.add("gather", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    const int64_t axis = s.below(x->rank()), n = x->shape()[static_cast<size_t>(axis)].value();
    Value* index = s.chance(50) ? s.value(DType::i64, 0, 2)
                                : s.constant(DType::i64, s.shape(s.between(0, 2), 24), -n, n - 1);
    s.emit("gather", {x, index}, {{"axis", axis}});
  });
  r.add("gather_elements", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    const int64_t axis = s.below(x->rank()), n = x->shape()[static_cast<size_t>(axis)].value();
    Ints shape = static_dims(x->shape());
    for (int64_t& d : shape) d = s.between(1, d);
    s.emit("gather_elements", {x, s.constant(DType::i64, shape, -n, n - 1)}, {{"axis", axis}});
  });
  r.add("gather_nd", [](Sampling& s) {
    Value* x = s.floats(2, 4);
    const int64_t depth = s.between(1, x->rank());
    s.emit("gather_nd", {x, s.constant(DType::i64, {s.between(1, 5), depth}, 0, 0)});
  });
}

}  // namespace qc
