#include "tests/random/sampling.h"

namespace qc {

void sample_pad_or_trim(Samplers& r) {
  r.add("pad_or_trim", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    const int64_t axis = s.between(0, x->rank() - 1);
    const int64_t from = x->shape()[static_cast<size_t>(axis)].value();
    std::vector<Value*> operands{x};
    const bool repeat = s.chance(30);
    if (!repeat && s.chance(50)) operands.push_back(s.constant(x->dtype(), {}));
    s.emit("pad_or_trim", operands,
           {{"axis", axis},
            {"size", s.between(1, from + 2)},
            {"valid", s.between(0, from + 2)},
            {"repeat", repeat}});
  });
  r.add("at_most", [](Sampling& s) {
    s.emit("at_most", {}, {{"size", s.between(1, 4)}, {"limit", s.between(1, 4)}});
  });
}

}  // namespace qc
