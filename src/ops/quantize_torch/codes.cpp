#include "ops/quantize_torch/codes.h"

#include <algorithm>

#include "ops/common/importing.h"
#include "ops/quantize_onnx/codec.h"

namespace qc::torch_codes {

using onnx_codes::as_codes;

namespace {

/// Scales and zero points as components. Scales of rank 0 were numbers or tensors read as numbers.
void set_numbers(Format& f, Tensor scale, const std::vector<int32_t>& zeros) {
  const Ints shape = scale.shape();
  bool any = false;
  for (int32_t z : zeros) any = any || z != 0;
  if (any && static_cast<int64_t>(zeros.size()) == scale.size()) {
    f.zero_point = Component::of(Tensor::of<int32_t>(DType::i32, shape, zeros));
  }
  f.scale = Component::of(std::move(scale));
}

std::vector<int32_t> ints_of(const Tensor& t) {
  std::vector<int32_t> out;
  for (int64_t i = 0; i < t.size(); ++i) out.push_back(static_cast<int32_t>(t.as_int(i)));
  return out;
}

}  // namespace

Codes read_codes(Compose& c, std::string_view dtype_name) {
  const Import& m = c.import();
  Codes out;
  out.dtype = c.take(m.dtype(dtype_name, DType::i8));
  if (!c.ok() || !is_integer(out.dtype) || bits(out.dtype) > 32) {
    c.fail(Code::unsupported, "codes of type {}", name(out.dtype));
    return out;
  }
  const CodeRange range = code_range(out.dtype);
  out.qmin = c.take(m.i("quant_min", range.lo));
  out.qmax = c.take(m.i("quant_max", range.hi));
  return out;
}

Codes read_codes_of_tensors(Compose& c) {
  const Import& m = c.import();
  Codes out;
  out.dtype = c.take(m.dtype("dtype", DType::i8));
  const Tensor lo = c.take(m.constant(c.take(m.tensor("quant_min")), "quant_min"));
  const Tensor hi = c.take(m.constant(c.take(m.tensor("quant_max")), "quant_max"));
  if (!c.ok()) return out;
  if (lo.size() != 1 || hi.size() != 1 || !is_integer(out.dtype) || bits(out.dtype) > 32) {
    c.fail(Code::unsupported, "{} and {} limits of codes of type {}", lo.size(), hi.size(),
           name(out.dtype));
    return out;
  }
  out.qmin = lo.as_int(0);
  out.qmax = hi.as_int(0);
  return out;
}

Operands read_operands(Compose& c, std::string_view scale_name, std::string_view zero_name) {
  const Import& m = c.import();
  return {c.take(m.tensor("input")), c.take(m.tensor(scale_name)),
          c.take(m.optional_tensor(zero_name))};
}

std::shared_ptr<Format> format_of(const Codes& codes) {
  auto format = std::make_shared<Format>();
  format->qmin = codes.qmin;
  format->qmax = codes.qmax;
  return format;
}

Value* quantized(Compose& c, Value* x, const Codes& codes, std::shared_ptr<Format> format) {
  x = c.cast(x, DType::f32);
  const QType to{codes.dtype, std::move(format)};
  Value* q = c.emit("quantize", {x}, {{"to", to}, {"arithmetic", std::string("torch")}});
  return c.emit("with_format", {q}, {{"to", QType{codes.dtype, nullptr}}});
}

Value* dequantized(Compose& c, Value* q, const Codes& codes, std::shared_ptr<Format> format) {
  if (c.ok() && q->dtype() != codes.dtype) {
    c.fail(Code::type, "codes of type {}, expected {}", name(q->dtype()), name(codes.dtype));
  }
  return c.emit("dequantize", {as_codes(c, q, QType{codes.dtype, std::move(format)})});
}

std::shared_ptr<Format> tensor_numbers(Compose& c, const Codes& codes, double scale, int64_t zero) {
  auto format = format_of(codes);
  const double scales[] = {scale};
  set_numbers(*format, Tensor::of<double>(DType::f64, {}, scales), {static_cast<int32_t>(zero)});
  if (zero < codes.qmin || zero > codes.qmax) {
    c.fail(Code::quant, "zero point {} is not among the codes {} to {}", zero, codes.qmin,
           codes.qmax);
  }
  return format;
}

Parameters tensor_parameters(Compose& c, const Codes& codes) {
  const Import& m = c.import();
  Parameters p{c.take(m.tensor("scale")), c.take(m.tensor("zero_point")), nullptr};
  if (!c.ok()) return p;
  if (!(product(p.scale->shape()) == Dim(1)) || !(product(p.zero->shape()) == Dim(1))) {
    c.fail(Code::shape, "scale {} and zero point {} must have one element", str(p.scale->shape()),
           str(p.zero->shape()));
    return p;
  }
  if (p.scale->is_constant() && p.zero->is_constant()) {
    const Tensor scale = c.take(m.constant(p.scale, "scale"));
    const Tensor zero = c.take(m.constant(p.zero, "zero point"));
    if (c.ok()) p.known = tensor_numbers(c, codes, scale.as_double(0), zero.as_int(0));
    return p;
  }
  p.scale = c.reshape(p.scale, {});
  p.zero = c.reshape(p.zero, {});
  return p;
}

std::shared_ptr<Format> listed(Compose& c, const Codes& codes, Value* scales, Value* zeros,
                               int64_t axis, int64_t group) {
  const Import& m = c.import();
  auto format = format_of(codes);
  Tensor s = c.take(m.constant(scales, "scales"));
  std::vector<int32_t> z;
  if (zeros) z = ints_of(c.take(m.constant(zeros, "zero points")));
  if (!c.ok()) return format;
  if (s.size() == 1) {
    set_numbers(*format, s.reshaped({}), z);
    return format;
  }
  format->granularity = group > 0 ? Granularity::group : Granularity::axis;
  format->axis = axis;
  format->group = group;
  set_numbers(*format, s.reshaped({s.size()}), z);
  return format;
}

std::shared_ptr<Format> rows_of(Compose& c, const Codes& codes, const Value* q) {
  auto format = format_of(codes);
  if (!c.ok()) return format;
  if (q->rank() < 1 || !q->shape().back().is_static()) {
    c.fail(Code::dim, "rows of {} must have a known size", str(q->shape()));
    return format;
  }
  format->granularity = Granularity::group;
  format->axis = q->rank() - 1;
  format->group = std::max<int64_t>(q->shape().back().value(), 1);
  return format;
}

Value* encode_at_run_time(Compose& c, Value* x, Value* scale, Value* zero, const Codes& codes) {
  Value* inverse = c("Div", {c.number(1, DType::f64), c.cast(scale, DType::f64)});
  Value* v = c("Round", {c("Mul", {c.cast(x, DType::f32), c.cast(inverse, DType::f32)})});
  v = c("Add", {v, c.cast(zero, DType::f32)});
  v = c.clamp(v, static_cast<double>(codes.qmin), static_cast<double>(codes.qmax));
  return c.cast(v, codes.dtype);
}

Value* decode_at_run_time(Compose& c, Value* q, Value* scale, Value* zero, const Codes& codes,
                          std::shared_ptr<Format> format) {
  format->scale = Component::at_run_time();
  format->zero_point = Component::at_run_time();
  Value* q_codes = as_codes(c, q, QType{codes.dtype, std::move(format)});
  return c.emit("dequantize", {q_codes, c.cast(scale, DType::f32), c.cast(zero, DType::i32)});
}

}  // namespace qc::torch_codes
