#include "tests/random/sampling.h"

namespace qc {
namespace {

/// A norm that writes codes, half of the time of a sum.
void sample_epilogue(Sampling& s, const std::string& name, bool dynamic) {
  const bool groups = name.starts_with("group"), residual = s.chance(50);
  Value* x = s.floats(groups ? 3 : 1, 4);
  const Ints shape = static_dims(x->shape());
  Value* gamma =
      s.chance(50) ? s.constant(DType::f32, {groups ? shape[1] : shape.back()}) : nullptr;
  AttrMap attrs{{"eps", 1e-5}, {"sums", residual && s.chance(50)}};
  if (groups) attrs["groups"] = s.chance(50) ? shape[1] : int64_t{1};
  s.emit(name, {x, gamma, nullptr, residual ? s.constant(DType::f32, shape) : nullptr},
         s.epilogue(dynamic, std::move(attrs)));
}

}  // namespace

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
  for (const std::string op : {"layer_norm_quantize", "rms_norm_quantize", "group_norm_quantize"}) {
    for (bool dynamic : {false, true}) {
      const std::string name = dynamic ? op + "_dynamic" : op;
      r.add(name, [name, dynamic](Sampling& s) { sample_epilogue(s, name, dynamic); });
    }
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
