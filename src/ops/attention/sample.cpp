#include "tests/random/sampling.h"

namespace qc {

void sample_attention(Samplers& r) {
  r.add("attention", [](Sampling& s) {
    Value* q = s.floats(4, 4);
    const Ints shape = static_dims(q->shape());
    if (shape[0] * shape[1] * shape[2] > 500) return;
    const int64_t keys = s.between(1, 40), width = s.between(1, 40),
                  shared = s.chance(30) ? 1 : shape[1];
    std::vector<Value*> inputs{q, s.constant(DType::f32, {shape[0], shared, keys, shape[3]}),
                               s.constant(DType::f32, {shape[0], shared, keys, width})};
    if (s.chance(50)) {
      const Ints mask{s.chance(50) ? 1 : shape[0], s.chance(50) ? 1 : shape[1],
                      s.chance(50) ? 1 : shape[2], keys};
      inputs.push_back(s.constant(s.chance(50) ? DType::boolean : DType::f32, mask, 0, 1));
    }
    AttrMap attrs;
    if (s.chance(40)) attrs["right"] = s.between(0, 2);
    if (s.chance(20)) attrs["left"] = s.between(0, 5);
    if (s.chance(20)) attrs["offset"] = Dim(s.between(-2, 5));
    if (s.chance(20)) attrs["softcap"] = 2.5;
    s.emit("attention", inputs, attrs);
  });
}

}  // namespace qc
