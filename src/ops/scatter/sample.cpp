#include "tests/random/sampling.h"

namespace qc {

void sample_scatter(Samplers& r) {
  static const std::vector<std::string> kReductions = {"none", "add", "mul", "max", "min"};
  static const std::vector<DType> kTypes = {DType::f32, DType::f32, DType::i64, DType::f16};
  r.add("scatter_elements", [](Sampling& s) {
    Value* x = s.value(s.pick(kTypes), 1, 4);
    const Ints shape = static_dims(x->shape());
    const int64_t axis = s.below(x->rank()), size = shape[static_cast<size_t>(axis)];
    Ints part;
    for (int64_t d : shape) part.push_back(s.between(1, d));
    s.emit("scatter_elements", {x, s.constant(DType::i64, part, -size - 1, size), s.constant(x->dtype(), part)},
           {{"axis", axis}, {"reduction", s.pick(kReductions)}});
  });
  r.add("scatter_nd", [](Sampling& s) {
    Value* x = s.value(s.pick(kTypes), 1, 4);
    const Ints shape = static_dims(x->shape());
    const int64_t depth = s.between(1, x->rank()), rows = s.between(1, 5);
    Ints updates{rows};
    updates.insert(updates.end(), shape.begin() + depth, shape.end());
    s.emit("scatter_nd", {x, s.constant(DType::i64, {rows, depth}, -2, 2), s.constant(x->dtype(), updates)},
           {{"reduction", s.pick(kReductions)}});
  });
  r.add("slice_scatter", [](Sampling& s) {
    Value* x = s.floats(1, 5);
    Ints start, step, part;
    for (const Dim& d : x->shape()) {
      const int64_t n = d.value(), by = s.between(1, 2), count = s.between(1, (n + by - 1) / by);
      part.push_back(count);
      step.push_back(by);
      start.push_back(s.between(0, n - 1 - (count - 1) * by));
    }
    s.emit("slice_scatter", {x, s.constant(DType::f32, part)}, {{"start", start}, {"step", step}});
  });
  r.add("as_strided_scatter", [](Sampling& s) {
    Value* x = s.floats(1, 3);
    const int64_t n = product(x->shape()).value(), by = s.between(1, 3), count = s.between(1, (n + by - 1) / by);
    s.emit("as_strided_scatter", {x, s.constant(DType::f32, {count})},
           {{"stride", Ints{by}}, {"offset", s.between(0, n - 1 - (count - 1) * by)}});
  });
}

}  // namespace qc
