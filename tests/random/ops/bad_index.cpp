#include "tests/random/sampling.h"

namespace qc {

void sample_bad_index(Samplers& r) {
  r.add("bad_index", [](Sampling& s) {
    const int64_t depth = s.between(1, 3);
    Ints sizes(static_cast<size_t>(depth), 3);
    std::vector<Value*> operands{s.constant(DType::i64, {s.between(1, 5), depth}, -4, 3)};
    if (s.chance(50)) operands.push_back(s.constant(DType::i64, {2}, 0, 1));
    s.emit("bad_index", operands, {{"sizes", sizes}, {"number", s.between(1, 9)}});
  });
}

}  // namespace qc
