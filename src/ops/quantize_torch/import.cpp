// PyTorch's quantized graphs: quantized_decomposed.* and torchao's affine ops. Codes keep the
// ranges the model gives; scales known when compiling keep their f64 digits, because PyTorch
// multiplies by f32(1 / scale).
#include <cmath>

#include "ops/common/importing.h"
#include "ops/common/registration.h"
#include "ops/quantize_onnx/codec.h"

namespace qc {
namespace {

using onnx_codes::as_codes;

/// What every op says about its codes.
struct Codes {
  DType dtype = DType::i8;
  int64_t qmin = 0, qmax = 0;
};

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

/// The same where the limits are tensors of one element.
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

std::shared_ptr<Format> format_of(const Codes& codes) {
  auto format = std::make_shared<Format>();
  format->qmin = codes.qmin;
  format->qmax = codes.qmax;
  return format;
}

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

/// round(x * f32(1 / scale)) + zero point, limited.
Value* encode_at_run_time(Compose& c, Value* x, const Parameters& p, const Codes& codes) {
  Value* inverse = c("Div", {c.number(1, DType::f64), c.cast(p.scale, DType::f64)});
  Value* v = c("Round", {c("Mul", {c.cast(x, DType::f32), c.cast(inverse, DType::f32)})});
  v = c("Add", {v, c.cast(p.zero, DType::f32)});
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

Result<Values> quantize_with(Import& m, Compose& c, const Codes& codes) {
  const Parameters p = tensor_parameters(c, codes);
  Value* x = c.take(m.tensor("input"));
  if (!c.ok()) return c.done({});
  return c.done({p.known ? quantized(c, x, codes, p.known) : encode_at_run_time(c, x, p, codes)});
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

/// The format of scales given as a tensor: one per index of `axis`, or one per group of it.
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

// Parameters chosen at run time.

/// The smallest or largest element, or that and 0, over all or over the last axis.
Value* extreme(Compose& c, std::string_view op, Value* x, bool rows) {
  if (!rows) return c(op, {x}, {{"keepdims", int64_t{0}}});
  return c(op, {x, c.ints({-1})}, {{"keepdims", int64_t{1}}});
}
struct Range {
  Value *lo = nullptr, *hi = nullptr;
};
Range range_of(Compose& c, Value* x, bool rows) {
  Value* zero = c.number(0, DType::f32);
  return {c("Min", {extreme(c, "ReduceMin", x, rows), zero}),
          c("Max", {extreme(c, "ReduceMax", x, rows), zero})};
}

Result<Values> choose_qparams(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  const double eps = c.take(m.f("eps", 1.1920928955078125e-07));
  const Range r = range_of(c, c.cast(c.take(m.tensor("input")), DType::f32), false);
  auto f32 = [&](double v) { return c.number(v, DType::f32); };
  Value* scale =
      c("Div", {c("Sub", {r.hi, r.lo}), f32(static_cast<double>(codes.qmax - codes.qmin))});
  scale = c("Max", {scale, f32(eps)});
  Value* zero =
      c("Sub", {f32(static_cast<double>(codes.qmin)), c("Round", {c("Div", {r.lo, scale})})});
  zero = c.clamp(zero, static_cast<double>(codes.qmin), static_cast<double>(codes.qmax));
  return c.done({c.reshape(c.cast(scale, DType::f64), {Dim(1)}),
                 c.reshape(c.cast(zero, DType::i64), {Dim(1)})});
}

Result<Values> choose_qparams_symmetric(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  const double eps = c.take(m.f("eps", 1.1920928955078125e-07));
  const Range r = range_of(c, c.cast(c.take(m.tensor("input")), DType::f32), false);
  auto f32 = [&](double v) { return c.number(v, DType::f32); };
  Value* largest = c("Max", {c("Neg", {r.lo}), r.hi});
  Value* scale = c("Div", {largest, f32(static_cast<double>(codes.qmax - codes.qmin) / 2)});
  scale = c("Max", {scale, f32(eps)});
  Value* zero = c.number(codes.dtype == DType::u8 ? 128 : 0, DType::i64);
  return c.done({c.reshape(c.cast(scale, DType::f64), {Dim(1)}), c.reshape(zero, {Dim(1)})});
}

constexpr std::string_view kPerToken = "quantized_decomposed.choose_qparams_per_token.default";

/// Its results are f32, though PyTorch's files say f64 and i64.
Result<Values> choose_qparams_per_token(Import& m) {
  Compose c(m);
  Value* x = c.cast(c.take(m.tensor("input")), DType::f32);
  Value* scale =
      c("Max", {extreme(c, "ReduceMax", c("Abs", {x}), true), c.number(1e-5, DType::f32)});
  scale = c("Div", {scale, c.number(127, DType::f32)});
  return c.done({c.cast(scale, DType::f64), c.cast(c.clamp(scale, 0, 0), DType::i64)});
}

Result<Values> choose_qparams_per_token_asymmetric(Import& m) {
  Compose c(m);
  const Range r = range_of(c, c.cast(c.take(m.tensor("input")), DType::f32), true);
  auto f32 = [&](double v) { return c.number(v, DType::f32); };
  Value* scale = c("Div", {c("Sub", {r.hi, r.lo}), f32(255)});
  scale = c("Max", {scale, f32(1.1920928955078125e-07)});
  Value* lowest = c("Div", {r.lo, scale});
  Value* highest = c("Div", {r.hi, scale});
  Value* from_lo = c("Add", {f32(-128), lowest});
  Value* from_hi = c("Add", {f32(127), highest});
  Value* at_lo = c("Greater", {c("Add", {from_lo, from_hi}), f32(0)});
  Value* zero = c("Where", {at_lo, c("Sub", {f32(-128), lowest}), c("Sub", {f32(127), highest})});
  zero = c("Round", {c.clamp(zero, -128, 127)});
  return c.done({c.cast(scale, DType::f64), c.cast(zero, DType::i64)});
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
  if (q->rank() < 1 || !q->shape().back().is_static()) {
    return m.fail(Code::dim, "rows of {} must have a known size", str(q->shape()));
  }
  auto format = format_of(codes);
  format->granularity = Granularity::group;
  format->axis = q->rank() - 1;
  format->group = std::max<int64_t>(q->shape().back().value(), 1);
  return c.done({c.cast(decode_at_run_time(c, q, scales, zeros, codes, format), to)});
}

// torchao: blocks of any shape share a scale.

/// An operand seen in blocks: axes that are cut have two dims, `axes` lie within a block.
struct Blocks {
  Dims wide, one_each;  // the operand's shape, and that of its scales
  Dims kept;            // the scales' without the axes within blocks
  Dims counts;          // blocks per axis of the operand
  Ints axes;
  bool rows = false;                       // each block is a row of the last axis
  std::optional<int64_t> one_axis, group;  // a scale per index of an axis, or per group of it
};
Blocks blocks_of(Compose& c, const Value* x) {
  const Import& m = c.import();
  const Ints block = c.take(m.ints("block_size", {}));
  Blocks out;
  if (!c.ok()) return out;
  if (static_cast<int64_t>(block.size()) != x->rank()) {
    c.fail(Code::shape, "block size of rank {} for {}", block.size(), str(x->shape()));
    return out;
  }
  int cuts = 0, singles = 0;
  out.rows = !block.empty();
  for (size_t i = 0; i < block.size(); ++i) {
    const Dim& d = x->shape()[i];
    if (block[i] < 1 || (block[i] > 1 && (!d.is_static() || d.value() % block[i] != 0))) {
      c.fail(Code::shape, "blocks of {} along axis {} of {}", block[i], i, str(x->shape()));
      return out;
    }
    const bool whole = d == Dim(block[i]);
    out.rows = out.rows && (i + 1 == block.size() ? whole : block[i] == 1);
    if (!whole) {
      ++(block[i] == 1 ? singles : cuts);
      out.one_axis = static_cast<int64_t>(i);
    }
    const Dim count = block[i] == 1 ? d : Dim(d.value() / block[i]);
    out.counts.push_back(count);
    if (!whole || block[i] == 1) {
      out.wide.push_back(count);
      out.one_each.push_back(count);
      out.kept.push_back(count);
    }
    if (block[i] == 1) continue;
    out.axes.push_back(static_cast<int64_t>(out.wide.size()));
    out.wide.push_back(Dim(block[i]));
    out.one_each.push_back(Dim(1));
  }
  for (size_t i = 0; i < block.size(); ++i) {
    if (block[i] > 1 && !(x->shape()[i] == Dim(block[i]))) {
      out.one_axis = static_cast<int64_t>(i);
      out.group = block[i];
    }
  }
  if (cuts > 1 || (cuts == 0 && singles > 1)) out.one_axis = std::nullopt;
  return out;
}

/// Scales known when compiling, of blocks that are a granularity of formats.
std::shared_ptr<Format> known_format(Compose& c, const Codes& codes, const Blocks& blocks,
                                     Value* scale, Value* zero) {
  const bool known = scale->is_constant() && (!zero || zero->is_constant());
  if (!known || (!blocks.one_axis && !(product(scale->shape()) == Dim(1)))) return nullptr;
  return listed(c, codes, scale, zero, blocks.one_axis.value_or(0), blocks.group.value_or(0));
}

Result<Values> quantize_affine(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "output_dtype");
  Value* x = c.take(m.tensor("input"));
  Value* scale = c.take(m.tensor("scale"));
  Value* zero = c.take(m.optional_tensor("zero_point"));
  if (!c.ok()) return c.done({});
  const Blocks blocks = blocks_of(c, x);
  if (!c.ok()) return c.done({});
  if (auto format = known_format(c, codes, blocks, scale, zero)) {
    return c.done({quantized(c, x, codes, std::move(format))});
  }
  if (!zero) zero = c.number(0, DType::i32);
  const bool one = product(zero->shape()) == Dim(1);
  const Parameters p{c.reshape(scale, blocks.one_each),
                     c.reshape(zero, one ? Dims{} : blocks.one_each), nullptr};
  return c.done(
      {c.reshape(encode_at_run_time(c, c.reshape(x, blocks.wide), p, codes), x->shape())});
}

Result<Values> dequantize_affine(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "input_dtype");
  Value* q = c.take(m.tensor("input"));
  Value* scale = c.take(m.tensor("scale"));
  Value* zero = c.take(m.optional_tensor("zero_point"));
  const DType to = c.take(m.dtype("output_dtype", DType::f32));
  if (!c.ok()) return c.done({});
  const Blocks blocks = blocks_of(c, q);
  if (!c.ok()) return c.done({});
  if (auto format = known_format(c, codes, blocks, scale, zero)) {
    return c.done({c.cast(dequantized(c, q, codes, std::move(format)), to)});
  }
  if (!zero) zero = c.number(0, DType::i32);
  const bool one = product(scale->shape()) == Dim(1);
  const bool same = zero->shape() == scale->shape();
  if (one && product(zero->shape()) == Dim(1)) {
    return c.done({c.cast(decode_at_run_time(c, q, c.reshape(scale, {}), c.reshape(zero, {}), codes,
                                             format_of(codes)),
                          to)});
  }
  if (blocks.rows && same) {
    auto format = format_of(codes);
    format->granularity = Granularity::group;
    format->axis = q->rank() - 1;
    format->group = std::max<int64_t>(q->shape().back().value(), 1);
    return c.done({c.cast(decode_at_run_time(c, q, c.reshape(scale, blocks.counts),
                                             c.reshape(zero, blocks.counts), codes, format),
                          to)});
  }
  Value* v = c.cast(c.reshape(q, blocks.wide), DType::f32);
  v = c("Sub", {v, c.cast(c.reshape(zero, same ? blocks.one_each : Dims{}), DType::f32)});
  v = c("Mul", {v, c.cast(c.reshape(scale, blocks.one_each), DType::f32)});
  return c.done({c.cast(c.reshape(v, q->shape()), to)});
}

/// Scale and zero point of every block, in the operand's type.
Result<Values> choose_qparams_affine(Import& m) {
  Compose c(m);
  const Codes codes = read_codes(c, "target_dtype");
  Value* x = c.take(m.tensor("input"));
  const std::string mapping = c.take(m.s("mapping_type", ""));
  if (!c.ok()) return c.done({});
  const DType in = x->dtype();
  const double smallest = in == DType::f16 ? 0x1p-14 : 0x1p-126;
  const double eps = c.take(m.f("eps", smallest));
  const DType scale_type = c.take(m.dtype("scale_dtype", in));
  const bool keepdim = c.take(m.b("keepdim", false));
  const Blocks blocks = blocks_of(c, x);
  if (!c.ok()) return c.done({});
  if (blocks.axes.empty()) return m.fail(Code::unsupported, "blocks of one element");
  const bool symmetric = mapping == "SYMMETRIC", clipless = mapping == "SYMMETRIC_NO_CLIPPING_ERR";
  if (!symmetric && !clipless && mapping != "ASYMMETRIC") {
    return m.fail(Code::attribute, "mapping type '{}'", mapping);
  }
  auto number = [&](double v) { return c.number(v, in); };
  const double lo = static_cast<double>(codes.qmin), hi = static_cast<double>(codes.qmax);
  Value* view = c.reshape(x, blocks.wide);
  auto extreme = [&](std::string_view reduce, std::string_view with_zero) {
    Value* v = c(reduce, {view, c.ints(blocks.axes)}, {{"keepdims", int64_t{1}}});
    return c(with_zero, {v, number(0)});
  };
  Value *least = extreme("ReduceMin", "Min"), *most = extreme("ReduceMax", "Max");
  Value *scale = nullptr, *zero = nullptr;
  if (symmetric) {
    scale = c("Div", {c("Max", {c("Neg", {least}), most}), number((hi - lo) / 2)});
  } else if (clipless) {
    scale = c("Max", {c("Div", {least, number(lo)}), c("Div", {most, number(hi)})});
  } else {
    scale = c("Div", {c("Sub", {most, least}), number(hi - lo)});
  }
  scale = c("Max", {scale, number(eps)});
  if (symmetric || clipless) {
    const double middle = std::trunc((hi + lo + 1) / 2);
    zero = c.clamp(scale, middle, middle);
  } else {
    zero = c("Sub", {number(lo), c("Round", {c("Div", {least, scale})})});
    zero = c.clamp(zero, lo, hi);
  }
  const DType zero_type =
      c.take(m.dtype("zero_point_dtype", symmetric || clipless ? in : DType::i32));
  const Dims shape = keepdim ? blocks.counts : blocks.kept;
  return c.done(
      {c.reshape(c.cast(scale, scale_type), shape), c.reshape(c.cast(zero, zero_type), shape)});
}

constexpr ImportRow kTorchRows[] = {
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
    {"quantized_decomposed", "choose_qparams.tensor", choose_qparams},
    {"quantized_decomposed", "choose_qparams_symmetric.tensor", choose_qparams_symmetric},
    {"quantized_decomposed", "choose_qparams_per_token.default", choose_qparams_per_token},
    {"quantized_decomposed", "choose_qparams_per_token_asymmetric.default",
     choose_qparams_per_token_asymmetric},
    {"quantized_decomposed", "_choose_qparams_per_token_asymmetric_impl.default",
     choose_qparams_per_token_asymmetric},
    {"torchao", "choose_qparams_affine.default", choose_qparams_affine},
    {"torchao", "quantize_affine.default", quantize_affine},
    {"torchao", "dequantize_affine.default", dequantize_affine},
};

}  // namespace

void register_quantize_torch(Registration& r) { r.imports(kTorchRows); }

}  // namespace qc
