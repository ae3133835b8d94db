#include "tests/random/sampling.h"

namespace qc {

void sample_logcumsumexp(Samplers& r) {
  r.add("logcumsumexp", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    s.emit("logcumsumexp", {x}, {{"axis", s.below(x->rank())}});
  });
}

}  // namespace qc
