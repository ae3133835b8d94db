#include <algorithm>

#include "tests/random/sampling.h"

namespace qc {

void sample_transpose(Samplers& r) {
  r.add("transpose", [](Sampling& s) {
    Value* x = s.floats(2, 5);
    Ints perm(static_cast<size_t>(x->rank()));
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
    for (size_t i = perm.size() - 1; i > 0; --i)
      std::swap(perm[i], perm[static_cast<size_t>(s.below(static_cast<int64_t>(i) + 1))]);
    s.emit("transpose", {x}, {{"perm", perm}});
  });
}

}  // namespace qc
