#include "tests/random/sampling.h"

namespace qc {

void sample_slice(Samplers& r) {
  r.add("slice", [](Sampling& s) {
    static const std::vector<DType> kTypes = {DType::f32, DType::f32, DType::f32, DType::i64,
                                              DType::boolean};
    Value* x = s.value(s.pick(kTypes), 1, 5);
    Ints start, size, step;
    for (const Dim& d : x->shape()) {
      const int64_t n = d.value(), by = s.chance(70) ? 1 : s.chance(50) ? -1 : 2;
      const int64_t count = s.chance(50) ? (n + std::abs(by) - 1) / std::abs(by)
                                         : s.between(1, (n + std::abs(by) - 1) / std::abs(by));
      const int64_t span = (count - 1) * by, slack = n - 1 - std::abs(span);
      start.push_back((by < 0 ? -span : 0) + s.between(0, slack));
      size.push_back(count);
      step.push_back(by);
    }
    s.emit("slice", {x}, {{"start", start}, {"size", size}, {"step", step}});
  });
  r.add("as_strided", [](Sampling& s) {
    Value* x = s.floats(1, 3);
    const int64_t n = product(x->shape()).value();
    const int64_t rows = s.between(1, 3), columns = s.between(1, std::max<int64_t>(1, n / 2));
    const int64_t last = (columns - 1) + (rows - 1);
    if (last >= n) return;
    s.emit("as_strided", {x},
           {{"size", Ints{rows, columns}},
            {"stride", Ints{1, 1}},
            {"offset", s.between(0, n - 1 - last)}});
  });
}

}  // namespace qc
