#include "tests/random/sampling.h"

namespace qc {
namespace {

AttrMap window(Sampling& s) {
  AttrMap attrs;
  if (s.chance(40)) attrs["right"] = s.between(0, 2);
  if (s.chance(20)) attrs["left"] = s.between(0, 5);
  if (s.chance(20)) attrs["offset"] = Dim(s.between(-2, 5));
  if (s.chance(20)) attrs["softcap"] = 2.5;
  return attrs;
}

/// Codes of 8 bits with a static scale, or with one or more of run time.
Value* coded(Sampling& s, Value* x) {
  const DType to = s.chance(50) ? DType::i8 : DType::u8;
  if (s.chance(40))
    return s.emit("quantize", {x}, {{"to", tensor_format(to, 0.02f, s.between(0, 9))}});
  return s.emit(
      "quantize_dynamic", {x},
      {{"to", to}, {"symmetric", to == DType::i8 && s.chance(50)}, {"per_token", s.chance(60)}});
}

/// Attention of codes: as floats, as codes with scales of their own, or found at run time.
void sample_codes(Sampling& s, const std::string& name, bool epilogue, bool dynamic) {
  Value* q = s.floats(4, 4);
  const Ints shape = static_dims(q->shape());
  if (shape[0] * shape[1] * shape[2] > 500) return;
  const int64_t keys = s.between(1, 40), width = s.between(1, 40),
                shared = s.chance(30) ? 1 : shape[1];
  std::vector<Value*> inputs{q, s.input(DType::f32, {shape[0], shared, keys, shape[3]}),
                             s.input(DType::f32, {shape[0], shared, keys, width}), nullptr};
  for (size_t i = 0; i < 3; ++i) {
    Value* codes = coded(s, inputs[i]);
    if (!codes) return;
    const bool dynamic = codes->type().format->is_dynamic();
    inputs[i] = codes;
    inputs.push_back(dynamic ? codes->def()->output(1) : nullptr);
    inputs.push_back(dynamic ? codes->def()->output(2) : nullptr);
  }
  if (s.chance(50)) {
    const Ints mask{s.chance(50) ? 1 : shape[0], s.chance(50) ? 1 : shape[1],
                    s.chance(50) ? 1 : shape[2], s.chance(80) ? keys : 1};
    inputs[3] = s.constant(s.chance(50) ? DType::boolean : DType::f32, mask, 0, 1);
  }
  while (!inputs.back()) inputs.pop_back();
  AttrMap attrs = window(s);
  if (epilogue) {
    attrs["joined"] = s.chance(50);
    attrs = s.epilogue(dynamic, std::move(attrs));
  } else {
    attrs["to"] = s.chance(50) ? s.format() : QType{};
  }
  s.emit(name, inputs, attrs);
}

}  // namespace

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
    s.emit("attention", inputs, window(s));
  });
  r.add("qattention", [](Sampling& s) { sample_codes(s, "qattention", false, false); });
  r.add("qattention_quantize",
        [](Sampling& s) { sample_codes(s, "qattention_quantize", true, false); });
  r.add("qattention_quantize_dynamic",
        [](Sampling& s) { sample_codes(s, "qattention_quantize_dynamic", true, true); });
}

}  // namespace qc
