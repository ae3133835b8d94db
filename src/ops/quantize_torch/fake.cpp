// PyTorch's fake quantization: codes and what they stand for in one op, as training leaves them.
#include "ops/common/importing.h"
#include "ops/quantize_torch/codes.h"

namespace qc::torch_codes {
namespace {

/// The smallest codes that hold the limits.
Codes read_limits(Compose& c) {
  const Import& m = c.import();
  Codes out;
  out.qmin = c.take(m.i("quant_min", 0));
  out.qmax = c.take(m.i("quant_max", 255));
  for (DType t : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32}) {
    out.dtype = t;
    const CodeRange range = code_range(t);
    if (out.qmin >= range.lo && out.qmax <= range.hi) return out;
  }
  c.fail(Code::unsupported, "codes from {} to {}", out.qmin, out.qmax);
  return out;
}

Value* input(Compose& c) {
  Value* x = c.take(c.import().tensor("self"));
  if (c.ok() && x->dtype() == DType::f64) c.fail(Code::unsupported, "fake quantization of f64");
  return x;
}

Result<Values> fake(Compose& c, Value* x, const Codes& codes,
                    const std::shared_ptr<Format>& format) {
  if (!c.ok()) return c.done({});
  return c.done(
      {c.cast(dequantized(c, quantized(c, x, codes, format), codes, format), x->dtype())});
}

/// PyTorch divides by the scale in f32.
Result<Values> fake_per_tensor(Import& m) {
  Compose c(m);
  const Codes codes = read_limits(c);
  const auto scale = static_cast<float>(c.take(m.f("scale", 1)));
  const int64_t zero = c.take(m.i("zero_point", 0));
  return fake(c, input(c), codes, tensor_numbers(c, codes, scale, zero));
}

Result<Values> fake_by_tensors(Import& m) {
  Compose c(m);
  const Codes codes = read_limits(c);
  const Parameters p = tensor_parameters(c, codes);
  Value* x = input(c);
  if (!c.ok() || p.known) return fake(c, x, codes, p.known);
  Value* q = encode_at_run_time(c, x, p.scale, p.zero, codes);
  return c.done(
      {c.cast(decode_at_run_time(c, q, p.scale, p.zero, codes, format_of(codes)), x->dtype())});
}

/// The same with a switch, which must be known.
Result<Values> fake_when_enabled(Import& m) {
  Compose c(m);
  Value* value = c.take(m.tensor("fake_quant_enabled"));
  const Tensor enabled = c.take(m.constant(value, "fake_quant_enabled"));
  if (!c.ok()) return c.done({});
  if (enabled.size() == 1 && enabled.as_int(0) == 0) return c.done({input(c)});
  return fake_by_tensors(m);
}

Result<Values> fake_per_channel(Import& m) {
  Compose c(m);
  const Codes codes = read_limits(c);
  Value* x = input(c);
  Value* scales = c.take(m.tensor("scale"));
  Value* zeros = c.take(m.tensor("zero_point"));
  if (!c.ok()) return c.done({});
  if (!is_integer(zeros->dtype()))
    c.fail(Code::unsupported, "zero points of type {}", name(zeros->dtype()));
  const int64_t axis = c.take(resolve_axis(c.take(m.i("axis", 0)), x->rank(), m.loc()));
  return fake(c, x, codes, listed(c, codes, scales, zeros, axis, 0));
}

// The second result of the ops that end in _cachemask is for training only.
constexpr ImportRow kRows[] = {
    {"aten", "fake_quantize_per_tensor_affine.default", fake_per_tensor},
    {"aten", "fake_quantize_per_tensor_affine_cachemask.default", fake_per_tensor},
    {"aten", "fake_quantize_per_tensor_affine.tensor_qparams", fake_by_tensors},
    {"aten", "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default",
     fake_when_enabled},
    {"aten", "fake_quantize_per_channel_affine.default", fake_per_channel},
    {"aten", "fake_quantize_per_channel_affine_cachemask.default", fake_per_channel},
};

}  // namespace

std::span<const ImportRow> fake_rows() { return kRows; }

}  // namespace qc::torch_codes
