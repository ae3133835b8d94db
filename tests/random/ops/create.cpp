#include "tests/random/sampling.h"

namespace qc {

void sample_create(Samplers& r) {
  r.add("dims", [](Sampling& s) {
    Ints values;
    for (int64_t i = s.between(1, 4); i > 0; --i) values.push_back(s.between(0, 4));
    s.emit("dims", {}, {{"values", values}});
  });
  r.add("iota", [](Sampling& s) {
    static const std::vector<DType> kTypes = {DType::i64, DType::f32, DType::i32};
    s.emit("iota", {},
           {{"start", s.between(0, 3)},
            {"step", s.between(1, 2)},
            {"size", s.size()},
            {"dtype", s.pick(kTypes)}});
  });
  r.add("trilu", [](Sampling& s) {
    s.emit("trilu", {s.floats(2, 4)}, {{"upper", s.chance(50)}, {"k", s.between(-2, 2)}});
  });
  r.add("one_hot", [](Sampling& s) {
    Value* index = s.value(DType::i64, 1, 3);
    s.emit("one_hot", {index, s.constant(DType::f32, {2})},
           {{"depth", s.between(2, 6)}, {"axis", s.between(0, index->rank())}});
  });
}

}  // namespace qc
