#include "tests/random/sampling.h"

namespace qc {

void sample_norm(Samplers& r) {
  for (const char* op : {"layer_norm", "rms_norm"}) {
    r.add(op, [op](Sampling& s) {
      Value* x = s.floats(1, 4);
      const int64_t axis = s.below(x->rank());
      Ints shape = static_dims(x->shape());
      shape.erase(shape.begin(), shape.begin() + axis);
      std::vector<Value*> inputs{x};
      if (s.chance(70)) inputs.push_back(s.constant(DType::f32, shape));
      if (inputs.size() == 2 && s.chance(50)) inputs.push_back(s.constant(DType::f32, shape));
      s.emit(op, inputs, {{"axis", axis}, {"eps", 1e-5}});
    });
  }
  r.add("group_norm", [](Sampling& s) {
    Value* x = s.floats(3, 5);
    const int64_t channels = x->shape()[1].value();
    std::vector<Value*> inputs{x, s.constant(DType::f32, {channels}),
                               s.constant(DType::f32, {channels})};
    s.emit("group_norm", inputs, {{"groups", s.chance(50) ? channels : 1}, {"eps", 1e-5}});
  });
  for (const char* op : {"layer_norm_quantize", "rms_norm_quantize"}) {
    r.add(op, [op](Sampling& s) {
      Value* x = s.floats(1, 4);
      const Ints shape = static_dims(x->shape());
      const bool residual = s.chance(50);
      Value* gamma = s.chance(50) ? s.constant(DType::f32, {shape.back()}) : nullptr;
      s.emit(op, {x, gamma, nullptr, residual ? s.constant(DType::f32, shape) : nullptr},
             {{"eps", 1e-5},
              {"to", s.format()},
              {"arithmetic", s.arithmetic()},
              {"sums", residual && s.chance(50)}});
    });
  }
  r.add("scale_shift", [](Sampling& s) {
    Value* x = s.floats(2, 5);
    const int64_t axis = s.below(x->rank()), n = x->shape()[static_cast<size_t>(axis)].value();
    s.emit("scale_shift", {x, s.constant(DType::f32, {n}), s.constant(DType::f32, {n})},
           {{"axis", axis}});
  });
  r.add("local_response_norm", [](Sampling& s) {
    s.emit("local_response_norm", {s.floats(3, 5)},
           {{"size", s.between(1, 5)}, {"alpha", 1e-3}, {"beta", 0.75}, {"bias", 1.0}});
  });
}

}  // namespace qc
