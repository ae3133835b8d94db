#include "tests/random/sampling.h"

namespace qc {
namespace {

/// A rotation of a value, its cosines and sines, as floats or, with an `ending`, as codes.
void sample(Sampling& s, const std::string& name, bool codes, bool dynamic) {
  Value* x = s.floats(1, 4);
  const Ints shape = static_dims(x->shape());
  if (shape.back() % 2 != 0) return;
  const Ints row{shape.back()};
  AttrMap attrs{{"interleaved", s.chance(50)}};
  std::vector<Value*> operands{x, s.constant(DType::f32, shape),
                               s.constant(DType::f32, s.chance(50) ? row : shape)};
  if (s.chance(30)) {
    attrs["norm"] = true;
    attrs["eps"] = 0.01;
    if (s.chance(70)) operands.push_back(s.constant(DType::f32, row));
  }
  s.emit(name, operands, codes ? s.epilogue(dynamic, attrs) : attrs);
}

}  // namespace

void sample_rotary(Samplers& r) {
  r.add("rotary", [](Sampling& s) { sample(s, "rotary", false, false); });
  r.add("rotary_quantize", [](Sampling& s) { sample(s, "rotary_quantize", true, false); });
  r.add("rotary_quantize_dynamic",
        [](Sampling& s) { sample(s, "rotary_quantize_dynamic", true, true); });
}

}  // namespace qc
