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
  auto [x, scales, zeros] = read_operands(c, "scales", "zero_points");
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
  auto [q, scales, zeros] = read_operands(c, "scales", "zero_points");
  const int64_t group = c.take(m.i("group_size", 128));
  if (!c.ok()) return c.done({});
  auto format = listed(c, codes, scales, zeros, q->rank() - 1, group);
  return c.done(
      {c.cast(dequantized(c, q, codes, format), c.take(m.dtype("output_dtype", DType::f32)))});
}

/// round(x * (1 / scale) + zero point): the zero point is added before rounding, in type `in`.
Value* encode_sum(Compose& c, Value* x, Value* scales, Value* zeros, const Codes& codes, DType in) {
  Value* v = c("Mul", {c.cast(x, in), c("Div", {c.number(1, in), c.cast(scales, in)})});
  v = c("Round", {c("Add", {v, c.cast(zeros, in)})});
  v = c.clamp(v, static_cast<double>(codes.qmin), static_cast<double>(codes.qmax));
  return c.cast(v, codes.dtype);
}

Result<Values> quantize_per_channel_group(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  Value* x = c.take(m.tensor("input"));
  Value* scales = c.take(m.tensor("scales"));
  Value* zeros = c.take(m.tensor("zero_points"));
  int64_t group = c.take(m.i("group_size", 128));
  if (!c.ok()) return c.done({});
  if (x->rank() != 2 || !all_static(x->shape())) {
    c.fail(Code::dim, "groups of {}, expected two known sizes", str(x->shape()));
    return c.done({});
  }
  const int64_t rows = x->shape()[0].value(), columns = x->shape()[1].value();
  if (group > columns && product(scales->shape()) == Dim(rows)) group = columns;
  if (group < 1 || columns % group != 0 ||
      !(product(scales->shape()) == Dim(rows * (columns / group))) ||
      !(product(zeros->shape()) == product(scales->shape()))) {
    c.fail(Code::shape, "{} scales and {} zero points for groups of {} in {}", str(scales->shape()),
           str(zeros->shape()), group, str(x->shape()));
    return c.done({});
  }
  const Dims one_each{Dim(rows), Dim(columns / group), Dim(1)};
  Value* q =
      encode_sum(c, c.reshape(x, {Dim(rows), Dim(columns / group), Dim(group)}),
                 c.reshape(scales, one_each), c.reshape(zeros, one_each), codes, scales->dtype());
  return c.done({c.reshape(q, x->shape())});
}

/// In the type that the scales have.
Result<Values> quantize_per_token(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  Value* x = c.take(m.tensor("input"));
  Value* scales = c.take(m.tensor("scales"));
  Value* zeros = c.take(m.tensor("zero_points"));
  if (!c.ok()) return c.done({});
  const Node* chosen = scales->def();
  const DType in = chosen && chosen->loc().op == kPerToken ? DType::f32 : scales->dtype();
  return c.done({encode_sum(c, x, scales, zeros, codes, in)});
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
    {"quantized_decomposed", "quantize_per_channel_group.default", quantize_per_channel_group},
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
  r.imports(torch_codes::dynamic_rows());
  r.imports(torch_codes::fake_rows());
  r.imports(torch_codes::affine_rows());
}

}  // namespace qc
