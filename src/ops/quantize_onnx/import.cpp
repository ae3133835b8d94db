// ONNX's quantized ops as exact arithmetic: codes become integers, products accumulate in i32 (f64
// for convolutions, which holds every sum exactly), and results are rounded once.
#include "ops/common/compose.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

struct CodeRange {
  double lo, hi;
};
CodeRange range_of(DType dtype) {
  const int width = bits(dtype);
  const double span = static_cast<double>(int64_t{1} << width);
  return is_signed(dtype) ? CodeRange{-span / 2, span / 2 - 1} : CodeRange{0, span - 1};
}

/// A scale or zero point arranged to broadcast against x: one for all, one per index of `axis`, or
/// one per block of `block` indices of it.
Value* spread(Compose& c, Value* v, const Value* x, int64_t axis, int64_t block) {
  if (!c.ok() || !v || product(v->shape()) == Dim(1)) return c.ok() && v ? c.reshape(v, {}) : v;
  axis = c.take(resolve_axis(axis, x->rank(), c.import().loc()));
  if (!c.ok()) return nullptr;
  const size_t a = static_cast<size_t>(axis);
  if (block == 0) {
    if (v->rank() != 1 || !(v->shape()[0] == x->shape()[a])) {
      c.fail(Code::shape, "scales {} for axis {} of {}", str(v->shape()), axis, str(x->shape()));
      return nullptr;
    }
    Dims shape(static_cast<size_t>(x->rank()), Dim(1));
    shape[a] = v->shape()[0];
    return c.reshape(v, shape);
  }
  if (v->rank() != x->rank() || block < 0) {
    c.fail(Code::shape, "scales {} for blocks of {}", str(v->shape()), str(x->shape()));
    return nullptr;
  }
  Dims apart = v->shape(), repeated = v->shape(), joined = v->shape();
  apart.insert(apart.begin() + axis + 1, Dim(1));
  repeated.insert(repeated.begin() + axis + 1, Dim(block));
  joined[a] = joined[a] * Dim(block);
  v = c.emit("expand", {c.reshape(v, apart)}, {{"shape", repeated}});
  v = c.reshape(v, joined);
  if (!c.ok() || joined[a] == x->shape()[a]) return v;
  if (!x->shape()[a].is_static()) {
    c.fail(Code::dim, "blocks over axis {} of size {}", axis, x->shape()[a].str());
    return nullptr;
  }
  return c("Slice", {v, c.ints({0}), c.ints({x->shape()[a].value()}), c.ints({axis})});
}

/// round(v) + zero point, limited to the codes of `to`.
Value* to_codes(Compose& c, Value* v, Value* zero, DType to) {
  v = c("Round", {c.cast(v, DType::f32)});
  if (zero) v = c("Add", {v, c.cast(zero, DType::f32)});
  const CodeRange range = range_of(to);
  return c.cast(c.clamp(v, range.lo, range.hi), to);
}

/// Codes minus their zero point as i32.
Value* centred(Compose& c, Value* x, Value* zero) {
  x = c.cast(x, DType::i32);
  return zero ? c("Sub", {x, c.cast(zero, DType::i32)}) : x;
}

Result<Values> quantize_linear(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* scale = c.take(operand(m, 1));
  const int64_t axis = c.take(m.i("axis", 1));
  const int64_t block = c.take(m.i("block_size", 0));
  const bool saturate = c.take(m.b("saturate", true));
  DType to = c.take(m.dtype("output_dtype", DType::u8));
  if (m.has(2)) to = m.in(2)->dtype();
  if (!c.ok()) return c.done({});
  const DType precision = c.take(m.dtype("precision", scale->dtype()));
  Value* spread_scale = spread(c, scale, x, axis, block);
  Value* zero = spread(c, m.in(2), x, axis, block);
  // A scale that is a power of two by its type (e8m0) divides in f32.
  const DType divide_in = bits(precision) < 16 ? DType::f32 : precision;
  Value* v = c("Div", {c.cast(x, divide_in), c.cast(spread_scale, divide_in)});
  if (is_integer(to)) return c.done({to_codes(c, v, zero, to)});
  v = c.cast(v, DType::f32);
  if (zero) v = c("Add", {v, c.cast(zero, DType::f32)});
  return c.done({c.emit("cast", {v}, {{"to", to}, {"saturate", saturate}})});
}

Result<Values> dequantize_linear(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* scale = c.take(operand(m, 1));
  const int64_t axis = c.take(m.i("axis", 1));
  const int64_t block = c.take(m.i("block_size", 0));
  if (!c.ok()) return c.done({});
  const DType to =
      c.take(m.dtype("output_dtype", bits(scale->dtype()) < 16 ? DType::f32 : scale->dtype()));
  Value* spread_scale = spread(c, scale, x, axis, block);
  Value* zero = spread(c, m.in(2), x, axis, block);
  Value* v = nullptr;
  if (is_integer(x->dtype())) {
    v = c.cast(centred(c, x, zero), DType::f32);
  } else {
    v = c.cast(x, DType::f32);
    if (zero) v = c("Sub", {v, c.cast(zero, DType::f32)});
  }
  v = c("Mul", {v, c.cast(spread_scale, DType::f32)});
  return c.done({c.cast(v, to)});
}

Result<Values> dynamic_quantize_linear(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* zero = c.number(0, DType::f32);
  Value* lo = c("Min", {zero, c("ReduceMin", {x}, {{"keepdims", int64_t{0}}})});
  Value* hi = c("Max", {zero, c("ReduceMax", {x}, {{"keepdims", int64_t{0}}})});
  Value* scale = c("Div", {c("Sub", {hi, lo}), c.number(255, DType::f32)});
  // All zeros: any scale represents them; 1 keeps the division defined.
  scale = c("Where", {c("Equal", {scale, zero}), c.number(1, DType::f32), scale});
  Value* point = to_codes(c, c("Div", {c("Sub", {zero, lo}), scale}), nullptr, DType::u8);
  return c.done({to_codes(c, c("Div", {x, scale}), point, DType::u8), scale, point});
}

/// A zero point of the left operand: one for all, or one per row.
Value* per_row(Compose& c, Value* zero) {
  if (!zero || zero->rank() == 0 || !c.ok()) return zero;
  if (product(zero->shape()) == Dim(1)) return c.reshape(zero, {});
  if (zero->rank() > 1) return zero;
  return c.reshape(zero, {zero->shape()[0], Dim(1)});
}
/// A scale or zero point of the right operand: one for all, or one per column.
Value* per_column(Compose& c, Value* v) {
  return v && c.ok() && product(v->shape()) == Dim(1) ? c.reshape(v, {}) : v;
}

Result<Values> matmul_integer(Import& m) {
  Compose c(m);
  Value* a = centred(c, c.take(operand(m, 0)), per_row(c, m.in(2)));
  Value* b = centred(c, c.take(operand(m, 1)), per_column(c, m.in(3)));
  return c.done({c("MatMul", {a, b})});
}

/// f32(accumulator) * (scale_a * scale_b / scale_y), rounded to codes.
Value* requantized(Compose& c, Value* sum, Value* sa, Value* sb, Value* sy, Value* zero, DType to) {
  auto as_f32 = [&](Value* v) { return c.cast(v, DType::f32); };
  Value* multiplier = c("Div", {c("Mul", {as_f32(sa), as_f32(sb)}), as_f32(sy)});
  return to_codes(c, c("Mul", {as_f32(sum), multiplier}), zero, to);
}

Result<Values> qlinear_matmul(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 8; ++i) c.take(operand(m, i));
  if (!c.ok()) return c.done({});
  Value* a = centred(c, m.in(0), per_row(c, m.in(2)));
  Value* b = centred(c, m.in(3), per_column(c, m.in(5)));
  Value* y = requantized(c, c("MatMul", {a, b}), per_row(c, m.in(1)), per_column(c, m.in(4)),
                         per_column(c, m.in(6)), per_column(c, m.in(7)), m.in(7)->dtype());
  return c.done({y});
}

/// A per-channel value of weights [M, ...], arranged along `axis` of a tensor of the given rank.
Value* per_channel(Compose& c, Value* v, int64_t rank, size_t axis) {
  if (!v || !c.ok()) return v;
  if (product(v->shape()) == Dim(1)) return c.reshape(v, {});
  Dims shape(static_cast<size_t>(rank), Dim(1));
  shape[axis] = product(v->shape());
  return c.reshape(v, shape);
}

Compose::Args window_args(const Import& m) {
  Compose::Args args;
  for (const auto& [name, value] : m.node().args) {
    if (name != "channels_last") args.emplace_back(name, value);
  }
  return args;
}

/// The exact sums of an integer convolution, as f64.
Value* integer_conv(Compose& c, Value* x, Value* zx, Value* w, Value* zw) {
  if (!c.ok() || x->rank() < 3 || w->rank() != x->rank()) {
    c.fail(Code::shape, "integer convolution of operands with ranks below 3 or unequal ranks");
    return nullptr;
  }
  Value* a = c.cast(centred(c, x, per_column(c, zx)), DType::f64);
  Value* b = c.cast(centred(c, w, per_channel(c, zw, w->rank(), 0)), DType::f64);
  return c("Conv", {a, b}, window_args(c.import()));
}

Result<Values> conv_integer(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* w = c.take(operand(m, 1));
  return c.done({c.cast(integer_conv(c, x, m.in(2), w, m.in(3)), DType::i32)});
}

Result<Values> qlinear_conv(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 8; ++i) c.take(operand(m, i));
  if (c.take(m.b("channels_last", false))) c.fail(Code::unsupported, "channels_last");
  if (!c.ok()) return c.done({});
  Value* sum = integer_conv(c, m.in(0), m.in(2), m.in(3), m.in(5));
  if (!c.ok()) return c.done({});
  const int64_t rank = m.in(0)->rank();
  if (m.has(8)) sum = c("Add", {sum, c.cast(per_channel(c, m.in(8), rank, 1), DType::f64)});
  Value* y = requantized(c, sum, per_column(c, m.in(1)), per_channel(c, m.in(4), rank, 1),
                         per_column(c, m.in(6)), per_column(c, m.in(7)), m.in(7)->dtype());
  return c.done({y});
}

/// A code tensor with one scale and zero point as f32: operands i, i + 1, i + 2.
Value* decoded(Compose& c, size_t i) {
  const Import& m = c.import();
  Value* x = c.take(operand(m, i));
  Value* scale = per_column(c, c.take(operand(m, i + 1)));
  Value* v = c.cast(centred(c, x, per_column(c, m.in(i + 2))), DType::f32);
  return c("Mul", {v, scale});
}
/// Codes of v with the scale and zero point at operands i and i + 1.
Value* encoded(Compose& c, Value* v, size_t i) {
  const Import& m = c.import();
  Value* scale = per_column(c, c.take(operand(m, i)));
  const DType to = m.has(i + 1) ? m.in(i + 1)->dtype() : m.in(0) ? m.in(0)->dtype() : DType::u8;
  return to_codes(c, c("Div", {v, scale}), per_column(c, m.in(i + 1)), to);
}

/// Quantized forms of ops on one operand: decode, compute, encode.
template <OpName Op>
Result<Values> qlinear_unary(Import& m) {
  Compose c(m);
  if (c.take(m.b("channels_last", false))) c.fail(Code::unsupported, "channels_last");
  Compose::Args args;
  for (const auto& [name, value] : window_args(m)) {
    if (name != "opset") args.emplace_back(name, value);
  }
  Value* x = decoded(c, 0);
  return c.done({encoded(c, c(Op.text, {x}, args), 3)});
}

template <OpName Op>
Result<Values> qlinear_binary(Import& m) {
  Compose c(m);
  Value* a = decoded(c, 0);
  Value* b = decoded(c, 3);
  return c.done({encoded(c, c(Op.text, {a, b}), 6)});
}

/// Operands: scale and zero point of the result, then code, scale, zero point of every part.
Result<Values> qlinear_concat(Import& m) {
  Compose c(m);
  Values parts;
  for (size_t i = 2; i + 2 < m.input_count() && c.ok(); i += 3) parts.push_back(decoded(c, i));
  Value* y = c("Concat", parts, {{"axis", c.take(m.i("axis", 0))}});
  Value* scale = per_column(c, c.take(operand(m, 0)));
  Value* zero = c.take(operand(m, 1));
  if (!c.ok()) return c.done({});
  return c.done({to_codes(c, c("Div", {y, scale}), per_column(c, zero), zero->dtype())});
}

constexpr ImportRow kRows[] = {
    {"", "QuantizeLinear", quantize_linear, 10},
    {"", "DequantizeLinear", dequantize_linear, 10},
    {"com.microsoft", "QuantizeLinear", quantize_linear},
    {"com.microsoft", "DequantizeLinear", dequantize_linear},
    {"", "DynamicQuantizeLinear", dynamic_quantize_linear, 11},
    {"", "MatMulInteger", matmul_integer, 10},
    {"", "ConvInteger", conv_integer, 10},
    {"", "QLinearMatMul", qlinear_matmul, 10},
    {"", "QLinearConv", qlinear_conv, 10},
    {"com.microsoft", "QLinearConv", qlinear_conv},
    {"com.microsoft", "QLinearAdd", qlinear_binary<"Add">},
    {"com.microsoft", "QLinearMul", qlinear_binary<"Mul">},
    {"com.microsoft", "QLinearAveragePool", qlinear_unary<"AveragePool">},
    {"com.microsoft", "QLinearGlobalAveragePool", qlinear_unary<"GlobalAveragePool">},
    {"com.microsoft", "QLinearSoftmax", qlinear_unary<"Softmax">},
    {"com.microsoft", "QLinearSigmoid", qlinear_unary<"Sigmoid">},
    {"com.microsoft", "QLinearLeakyRelu", qlinear_unary<"LeakyRelu">},
    {"com.microsoft", "QLinearConcat", qlinear_concat},
};

}  // namespace

void register_quantize_onnx(Registration& r) { r.imports(kRows); }

}  // namespace qc
