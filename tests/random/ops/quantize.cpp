#include <cmath>

#include "tests/random/sampling.h"

namespace qc {
namespace {

/// Scales per index or group of an axis of x.
QType fine_format(Sampling& s, const Value& x) {
  auto format = std::make_shared<Format>();
  format->granularity = s.chance(50) ? Granularity::axis : Granularity::group;
  format->axis = s.below(x.rank());
  const Ints shape = static_dims(x.shape());
  const int64_t size = shape[static_cast<size_t>(format->axis)];
  int64_t count = size;
  if (format->granularity == Granularity::group) {
    format->group = s.between(1, size);
    count = 1;
    for (int64_t d : shape) count *= d;
    count = count / size * ((size + format->group - 1) / format->group);
  }
  Tensor scales(DType::f32, {count}), zeros(DType::i32, {count});
  for (int64_t i = 0; i < count; ++i) {
    scales.set_double(i, static_cast<double>(s.between(1, 100)) / 2000.0);
    zeros.set_int(i, s.between(-20, 20));
  }
  format->scale = Component::of(std::move(scales));
  if (s.chance(50)) format->zero_point = Component::of(std::move(zeros));
  return {DType::i8, std::move(format)};
}

}  // namespace

void sample_quantize(Samplers& r) {
  r.add("quantize", [](Sampling& s) {
    Value* x = s.floats(0, 4);
    const QType to = x->rank() > 0 && s.chance(20) ? fine_format(s, *x) : s.format();
    s.emit("quantize", {x}, {{"to", to}, {"arithmetic", s.arithmetic()}});
  });
  r.add("dequantize", [](Sampling& s) {
    Value* x =
        s.find([](const Value& v) { return v.type().format && !v.type().format->is_dynamic(); });
    s.emit("dequantize", {x && s.chance(80) ? x : s.codes(0, 4)});
  });
  r.add("requantize", [](Sampling& s) {
    s.emit("requantize", {s.codes(0, 4)}, {{"to", s.format()}, {"arithmetic", s.arithmetic()}});
  });
  r.add("quantize_dynamic", [](Sampling& s) {
    const DType to = s.pick<DType>({DType::i8, DType::u8, DType::i16});
    Value* codes = s.emit(
        "quantize_dynamic", {s.floats(1, 4)},
        {{"to", to}, {"symmetric", is_signed(to) && s.chance(50)}, {"per_token", s.chance(50)}});
    if (!codes) return;
    const Node* q = codes->def();
    s.emit("dequantize", {codes, q->output(1), q->output(2)});
  });
  r.add("with_format", [](Sampling& s) {
    Value* x = s.codes(0, 4);
    Value* plain = s.emit("with_format", {x}, {{"to", QType{x->dtype(), nullptr}}});
    if (plain) s.emit("with_format", {plain}, {{"to", x->type().quant()}});
  });
  r.add("lookup", [](Sampling& s) {
    Value* x = s.codes(0, 4);
    const QType to = s.format();
    Tensor table(to.dtype, {256});
    for (int64_t i = 0; i < 256; ++i) table.set_int(i, s.between(to.format->qmin, to.format->qmax));
    s.emit("lookup", {x, s.graph().constant(std::move(table))}, {{"to", to}});
  });
}

}  // namespace qc
