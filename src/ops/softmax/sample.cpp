#include "tests/random/sampling.h"

namespace qc {

void sample_softmax(Samplers& r) {
  for (const char* op : {"softmax", "log_softmax"}) {
    r.add(op, [op](Sampling& s) {
      Value* x = s.floats(1, 4);
      s.emit(op, {x}, {{"axis", s.below(x->rank())}});
    });
  }
}

}  // namespace qc
