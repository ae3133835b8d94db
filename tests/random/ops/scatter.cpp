#include "tests/random/sampling.h"

namespace qc {

void sample_scatter(Samplers& r) {
  static const std::vector<std::string> kReductions = {"none", "add", "mul", "max", "min"};
  r.add("scatter_elements", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    const int64_t axis = s.below(x->rank()), n = x->shape()[static_cast<size_t>(axis)].value();
    Ints shape = static_dims(x->shape());
    for (int64_t& d : shape) d = s.between(1, d);
    s.emit("scatter_elements",
           {x, s.constant(DType::i64, shape, -n, n - 1), s.constant(DType::f32, shape)},
           {{"axis", axis}, {"reduction", s.pick(kReductions)}});
  });
  r.add("scatter_nd", [](Sampling& s) {
    Value* x = s.floats(1, 3);
    const int64_t rows = s.between(1, 4);
    Ints updates = static_dims(x->shape());
    const int64_t first = updates[0];
    updates[0] = rows;
    s.emit(
        "scatter_nd",
        {x, s.constant(DType::i64, {rows, 1}, -first, first - 1), s.constant(DType::f32, updates)},
        {{"reduction", s.pick(kReductions)}});
  });
  r.add("slice_scatter", [](Sampling& s) {
    Value* x = s.floats(1, 4);
    Ints size, start, step;
    for (const Dim& d : x->shape()) {
      size.push_back(s.between(1, d.value()));
      start.push_back(s.between(0, d.value() - size.back()));
      step.push_back(1);
    }
    s.emit("slice_scatter", {x, s.constant(DType::f32, size)}, {{"start", start}, {"step", step}});
  });
  r.add("as_strided_scatter", [](Sampling& s) {
    Value* x = s.floats(1, 3);
    const int64_t n = product(x->shape()).value(), m = s.between(1, n);
    s.emit("as_strided_scatter", {x, s.constant(DType::f32, {m})},
           {{"stride", Ints{1}}, {"offset", s.between(0, n - m)}});
  });
}

}  // namespace qc
