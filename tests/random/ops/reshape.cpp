#include "tests/random/sampling.h"

namespace qc {

void sample_reshape(Samplers& r) {
  r.add("reshape", [](Sampling& s) {
    Value* x = s.floats(0, 5);
    int64_t left = product(x->shape()).value();
    Ints shape;
    while (left > 1 && shape.size() < 4) {
      int64_t d = s.between(1, left);
      while (left % d != 0) --d;
      shape.push_back(d);
      left /= d;
    }
    shape.push_back(left);
    s.emit("reshape", {x}, {{"shape", shape}});
  });
}

}  // namespace qc
