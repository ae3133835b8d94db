#include "tests/random/sampling.h"

namespace qc {

void sample_concat(Samplers& r) {
  r.add("concat", [](Sampling& s) {
    Value* x = s.floats(1, 5);
    const int64_t axis = s.below(x->rank());
    std::vector<Value*> parts{x};
    const int64_t more = s.between(1, 3);
    for (int64_t i = 0; i < more; ++i) {
      Value* same = s.find(
          [&](const Value& v) { return v.dtype() == DType::f32 && v.shape() == x->shape(); });
      Ints shape = static_dims(x->shape());
      shape[static_cast<size_t>(axis)] = s.between(1, 5);
      parts.push_back(s.chance(70) ? same : s.constant(DType::f32, shape));
    }
    s.emit("concat", parts, {{"axis", axis}});
  });
}

}  // namespace qc
