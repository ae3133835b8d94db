#include "tests/random/sampling.h"

namespace qc {

void sample_arg(Samplers& r) {
  for (const char* op : {"argmax", "argmin"}) {
    r.add(op, [op](Sampling& s) {
      Value* x = s.floats(1, 4);
      s.emit(op, {x},
             {{"axis", s.below(x->rank())},
              {"keepdims", s.chance(50)},
              {"select_last", s.chance(30)}});
    });
  }
  r.add("sort", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    const int64_t axis = s.below(x->rank());
    s.emit("sort", {x},
           {{"axis", axis},
            {"k", s.between(1, x->shape()[static_cast<size_t>(axis)].value())},
            {"descending", s.chance(50)}});
  });
  r.add("histogram", [](Sampling& s) {
    s.emit("histogram", {s.floats(1, 3)},
           {{"bins", s.between(1, 9)}, {"low", -1.0}, {"high", 1.5}});
  });
}

}  // namespace qc
