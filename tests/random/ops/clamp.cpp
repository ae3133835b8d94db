#include "ir/capability.h"
#include "tests/random/sampling.h"

namespace qc {

void sample_clamp(Samplers& r) {
  r.add("clamp", [](Sampling& s) {
    AttrMap attrs{{"lo", static_cast<double>(s.between(-2, 0))}};
    if (s.chance(50)) attrs["hi"] = static_cast<double>(s.between(1, 3));
    // Often the only reader of a node that may take the limits over.
    Value* x = !s.chance(50) ? nullptr : s.find([](const Value& v) {
      return v.def() && capability<AbsorbsClamp>(v.def()) && !v.has_uses();
    });
    if (!x || x->dtype() == DType::boolean) x = s.value(s.arithmetic_type(), 0, 5);
    s.emit("clamp", {x}, attrs);
  });
}

}  // namespace qc
