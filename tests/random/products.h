// Products of codes in random graphs.
#pragma once

#include "quant/scheme.h"
#include "tests/random/sampling.h"

namespace qc {

/// Constant codes with one scale, or one per index of `axis`.
inline Value* sample_weights(Sampling& s, const Ints& shape, int64_t axis) {
  static const std::vector<DType> kTypes = {DType::i8, DType::i8, DType::u8, DType::i16, DType::i4};
  const DType dtype = s.pick(kTypes);
  const CodeRange range = code_range(dtype);
  auto format = std::make_shared<Format>();
  format->qmin = range.lo;
  format->qmax = range.hi;
  const bool many = s.chance(50);
  const int64_t n = many ? shape[static_cast<size_t>(axis)] : 1;
  Tensor scales(DType::f32, many ? Ints{n} : Ints{}), zeros(DType::i32, many ? Ints{n} : Ints{});
  for (int64_t i = 0; i < n; ++i) {
    scales.set_double(
        i, static_cast<double>(s.between(1, 100)) / 50 / static_cast<double>(range.hi - range.lo));
    zeros.set_int(i, s.between(range.lo, range.hi));
  }
  if (many) {
    format->granularity = Granularity::axis;
    format->axis = axis;
  }
  format->scale = Component::of(std::move(scales));
  if (s.chance(40)) format->zero_point = Component::of(std::move(zeros));
  return s.graph().constant(s.constant(dtype, shape, range.lo, range.hi)->constant(), format);
}

/// Constant codes of 8 bits with a scale and zero point per few indices of axis 1.
inline Value* sample_grouped_weights(Sampling& s, const Ints& shape) {
  auto format = std::make_shared<Format>();
  format->qmin = -128;
  format->qmax = 127;
  format->granularity = Granularity::group;
  format->axis = 1;
  format->group = s.between(1, shape[1]);
  int64_t count = (shape[1] + format->group - 1) / format->group;
  for (size_t i = 0; i < shape.size(); ++i) count *= i == 1 ? 1 : shape[i];
  Tensor scales(DType::f32, {count}), zeros(DType::i32, {count});
  for (int64_t i = 0; i < count; ++i) {
    scales.set_double(i, static_cast<double>(s.between(1, 100)) / 6400);
    zeros.set_int(i, s.between(-128, 127));
  }
  format->scale = Component::of(std::move(scales));
  if (s.chance(50)) format->zero_point = Component::of(std::move(zeros));
  return s.graph().constant(s.constant(DType::i8, shape, -128, 127)->constant(), format);
}

/// A product of codes x with weights of `shape`, a bias and a result of any kind.
inline void sample_accumulators(Sampling& s, std::string_view op, Value* x, const Ints& shape,
                                int64_t axis, int64_t outputs, AttrMap attrs) {
  std::vector<Value*> inputs{x, sample_weights(s, shape, axis)};
  const QType to = s.chance(80) ? s.format() : s.chance(50) ? QType{} : QType{DType::i32, nullptr};
  if (s.chance(60)) {
    inputs.push_back(s.chance(40) && to.dtype != DType::i32
                         ? s.constant(DType::f32, {outputs})
                         : s.constant(DType::i32, {outputs}, -5000, 5000));
  }
  attrs["to"] = to;
  attrs["arithmetic"] = s.arithmetic();
  if (to.format && s.chance(30)) attrs["lo"] = int64_t{to.format->zero_at()};
  s.emit(op, inputs, attrs);
}

}  // namespace qc
