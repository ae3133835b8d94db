// PyTorch's quantized graphs: quantized_decomposed.* and torchao's affine ops. Codes keep the
// ranges the model gives; scales known when compiling keep their f64 digits, because PyTorch
// multiplies by f32(1 / scale).
#include "ops/common/importing.h"
#include "ops/common/registration.h"
#include "ops/quantize_torch/codes.h"

namespace qc::torch_codes {
namespace {

// Per tensor, numbers.

Result<Values> quantize_per_tensor(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  const double scale = c.take(m.f("scale", 1));
  const int64_t zero = c.take(m.i("zero_point", 0));
  return c.done(
      {quantized(c, c.take(m.tensor("input")), codes, tensor_numbers(c, codes, scale, zero))});
}

Result<Values> dequantize_per_tensor(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  const double scale = c.take(m.f("scale", 1));
  const int64_t zero = c.take(m.i("zero_point", 0));
  const DType to = c.take(m.dtype("out_dtype", DType::f32));
  return c.done({c.cast(
      dequantized(c, c.take(m.tensor("input")), codes, tensor_numbers(c, codes, scale, zero)),
      to)});
}

// Per tensor, one-element tensors: numbers when they are constants, else computed at run time.

/// Scale and zero point of a `.tensor` form.
struct Parameters {
  Value *scale = nullptr, *zero = nullptr;
  std::shared_ptr<Format> known;
};
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

Result<Values> quantize_with(Import& m, Compose& c, const Codes& codes) {
  const Parameters p = tensor_parameters(c, codes);
  Value* x = c.take(m.tensor("input"));
  if (!c.ok()) return c.done({});
  return c.done({p.known ? quantized(c, x, codes, p.known)
                         : encode_at_run_time(c, x, p.scale, p.zero, codes)});
}
Result<Values> dequantize_with(Import& m, Compose& c, const Codes& codes) {
  const Parameters p = tensor_parameters(c, codes);
  const DType to = c.take(m.dtype("out_dtype", DType::f32));
  Value* q = c.take(m.tensor("input"));
  if (!c.ok()) return c.done({});
  Value* y = p.known ? dequantized(c, q, codes, p.known)
                     : decode_at_run_time(c, q, p.scale, p.zero, codes, format_of(codes));
  return c.done({c.cast(y, to)});
}

Result<Values> quantize_by_tensors(Import& m) {
  Compose c(m);
  return quantize_with(m, c, read_codes(c, "dtype"));
}
Result<Values> dequantize_by_tensors(Import& m) {
  Compose c(m);
  return dequantize_with(m, c, read_codes(c, "dtype"));
}
Result<Values> quantize_by_tensors_with_limits(Import& m) {
  Compose c(m);
  return quantize_with(m, c, read_codes_of_tensors(c));
}
Result<Values> dequantize_by_tensors_with_limits(Import& m) {
  Compose c(m);
  return dequantize_with(m, c, read_codes_of_tensors(c));
}

// Per channel and per group: constant scales.

Result<Values> per_channel_codes(Import& m, bool encode) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  Value* x = c.take(m.tensor("input"));
  Value* scales = c.take(m.tensor("scales"));
  Value* zeros = c.take(m.optional_tensor("zero_points"));
  if (!c.ok()) return c.done({});
  const int64_t axis = c.take(resolve_axis(c.take(m.i("axis", 0)), x->rank(), m.loc()));
  auto format = listed(c, codes, scales, zeros, axis, 0);
  if (encode) return c.done({quantized(c, x, codes, format)});
  return c.done(
      {c.cast(dequantized(c, x, codes, format), c.take(m.dtype("out_dtype", DType::f32)))});
}
Result<Values> quantize_per_channel(Import& m) { return per_channel_codes(m, true); }
Result<Values> dequantize_per_channel(Import& m) { return per_channel_codes(m, false); }

Result<Values> dequantize_per_channel_group(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  Value* q = c.take(m.tensor("w_int8"));
  Value* scales = c.take(m.tensor("scales"));
  Value* zeros = c.take(m.optional_tensor("zero_points"));
  const int64_t group = c.take(m.i("group_size", 128));
  if (!c.ok()) return c.done({});
  auto format = listed(c, codes, scales, zeros, q->rank() - 1, group);
  return c.done(
      {c.cast(dequantized(c, q, codes, format), c.take(m.dtype("output_dtype", DType::f32)))});
}

/// round(x * (1 / scale) + zero point): here the zero point is added before rounding, in the type
/// that the scales have.
Result<Values> quantize_per_token(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  Value* x = c.take(m.tensor("input"));
  Value* scales = c.take(m.tensor("scales"));
  Value* zeros = c.take(m.tensor("zero_points"));
  if (!c.ok()) return c.done({});
  const Node* chosen = scales->def();
  const DType in = chosen && chosen->loc().op == kPerToken ? DType::f32 : scales->dtype();
  scales = c.cast(scales, in);
  Value* v = c("Mul", {c.cast(x, in), c("Div", {c.number(1, in), scales})});
  v = c("Round", {c("Add", {v, c.cast(zeros, in)})});
  v = c.clamp(v, static_cast<double>(codes.qmin), static_cast<double>(codes.qmax));
  return c.done({c.cast(v, codes.dtype)});
}

Result<Values> dequantize_per_token(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  Value* q = c.take(m.tensor("input"));
  Value* scales = c.take(m.tensor("scales"));
  Value* zeros = c.take(m.tensor("zero_points"));
  const DType to = c.take(m.dtype("output_dtype", DType::f32));
  if (!c.ok()) return c.done({});
  auto format = rows_of(c, codes, q);
  return c.done({c.cast(decode_at_run_time(c, q, scales, zeros, codes, format), to)});
}

constexpr ImportRow kDecomposedRows[] = {
    {"quantized_decomposed", "quantize_per_tensor.default", quantize_per_tensor},
    {"quantized_decomposed", "quantize_per_tensor.tensor", quantize_by_tensors},
    {"quantized_decomposed", "quantize_per_tensor.tensor2", quantize_by_tensors_with_limits},
    {"quantized_decomposed", "dequantize_per_tensor.default", dequantize_per_tensor},
    {"quantized_decomposed", "dequantize_per_tensor.tensor", dequantize_by_tensors},
    {"quantized_decomposed", "dequantize_per_tensor.tensor2", dequantize_by_tensors_with_limits},
    {"quantized_decomposed", "quantize_per_channel.default", quantize_per_channel},
    {"quantized_decomposed", "dequantize_per_channel.default", dequantize_per_channel},
    {"quantized_decomposed", "dequantize_per_channel_group.default", dequantize_per_channel_group},
    {"quantized_decomposed", "quantize_per_token.default", quantize_per_token},
    {"quantized_decomposed", "dequantize_per_token.default", dequantize_per_token},
};

}  // namespace
}  // namespace qc::torch_codes

namespace qc {

void register_quantize_torch(Registration& r) {
  r.imports(torch_codes::kDecomposedRows);
  r.imports(torch_codes::choosing_rows());
  r.imports(torch_codes::affine_rows());
}

}  // namespace qc
