#include "tests/random/sampling.h"

namespace qc {

void sample_where(Samplers& r) {
  r.add("where", [](Sampling& s) {
    Value* x = s.floats(0, 4);
    Value* condition = s.find(
        [&](const Value& v) { return v.dtype() == DType::boolean && v.shape() == x->shape(); });
    if (!condition) condition = s.constant(DType::boolean, static_dims(x->shape()));
    s.emit("where", {condition, x, s.constant(DType::f32, {})});
  });
}

}  // namespace qc
