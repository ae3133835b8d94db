// ONNX's quantized ops: QuantizeLinear and DequantizeLinear, and the operators on codes as the
// float op between them, from which the quantize stage forms one integer node with the same bits.
#include "ops/common/importing.h"
#include "ops/common/registration.h"
#include "ops/quantize_onnx/codec.h"
#include "ops/quantize_onnx/integer.h"

namespace qc {
namespace {

using onnx_codes::as_codes;
using onnx_codes::Coding;
using onnx_codes::decode;
using onnx_codes::encode;
using onnx_codes::has_format;
using onnx_codes::known_format;
using onnx_codes::kOperators;
using onnx_codes::kPairs;
using onnx_codes::spread;
using onnx_codes::to_codes;

Result<Values> quantize_linear(Import& m) {
  Compose c(m);
  Value* x = c.take(operand(m, 0));
  Value* scale = c.take(operand(m, 1));
  const Coding coding{scale, m.in(2), c.take(m.i("axis", 1)), c.take(m.i("block_size", 0))};
  const bool saturate = c.take(m.b("saturate", true));
  DType to = c.take(m.dtype("output_dtype", DType::u8));
  if (m.has(2)) to = m.in(2)->dtype();
  if (!c.ok()) return c.done({});
  const DType precision = c.take(m.dtype("precision", scale->dtype()));
  // A scale that is a power of two by its type (e8m0) divides in f32.
  const DType divide_in = bits(precision) < 16 ? DType::f32 : precision;
  if (is_integer(to) && divide_in == DType::f32 && scale->dtype() == DType::f32) {
    return c.done({encode(c, c.cast(x, DType::f32), coding, to, kPairs)});
  }
  Value* spread_scale = spread(c, scale, x, coding.axis, coding.block);
  Value* zero = spread(c, coding.zero, x, coding.axis, coding.block);
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
  const Coding coding{scale, m.in(2), c.take(m.i("axis", 1)), c.take(m.i("block_size", 0))};
  if (!c.ok()) return c.done({});
  const DType to =
      c.take(m.dtype("output_dtype", bits(scale->dtype()) < 16 ? DType::f32 : scale->dtype()));
  return c.done({c.cast(decode(c, x, coding), to)});
}

/// Codes of operand x with run-time scale and zero point, the latter as ONNX's u8.
Values dynamic_codes(Compose& c, Value* x) {
  if (!c.ok()) return {nullptr, nullptr, nullptr};
  Values q = c.take(c.import().emit_all("quantize_dynamic", {x}, {{"to", DType::u8}}));
  if (!c.ok()) return {nullptr, nullptr, nullptr};
  Value* codes = c.emit("with_format", {q[0]}, {{"to", QType{DType::u8, nullptr}}});
  return {codes, q[1], c.cast(q[2], DType::u8)};
}

Result<Values> dynamic_quantize_linear(Import& m) {
  Compose c(m);
  return c.done(dynamic_codes(c, c.take(operand(m, 0))));
}

/// Operands: a, b, their scales, their zero points, a bias that is added as floats.
Result<Values> matmul_to_float(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 4; ++i) c.take(operand(m, i));
  if (!c.ok()) return c.done({});
  const Coding ca{m.in(2), m.in(4)}, cb{m.in(3), m.in(5), 1};
  if (!m.in(1)->is_constant() || m.in(1)->rank() != 2 || m.in(0)->rank() < 2 ||
      !has_format(m.graph(), m.in(0), ca) || !has_format(m.graph(), m.in(1), cb)) {
    return onnx_codes::exact_matmul_to_float(m);
  }
  Value* y = c("MatMul", {decode(c, m.in(0), ca), decode(c, m.in(1), cb)});
  return c.done({m.has(6) ? c("Add", {y, m.in(6)}) : y});
}

Result<Values> dynamic_quantize_matmul(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 3; ++i) c.take(operand(m, i));
  const Values a = dynamic_codes(c, m.in(0));
  if (!c.ok()) return c.done({});
  ForeignNode node = m.node();
  node.inputs = {a[0], m.in(1), a[1], m.in(2), a[2], m.in(3), m.in(4)};
  Import product(m.graph(), node);
  return matmul_to_float(product);
}

/// Axes of a channels-last value of this rank in the usual order, or back.
Ints channels_first(int64_t rank, bool back) {
  Ints perm = {0};
  if (!back) perm.push_back(rank - 1);
  for (int64_t i = 1; i + 1 < rank; ++i) perm.push_back(back ? i + 1 : i);
  if (back) perm.push_back(1);
  return perm;
}
Value* transposed(Compose& c, Value* x, bool back) {
  if (!c.ok() || x->rank() < 3) return x;
  return c.emit("transpose", {x}, {{"perm", channels_first(x->rank(), back)}});
}

Compose::Args args_without(const Import& m, std::initializer_list<std::string_view> names) {
  Compose::Args args;
  for (const auto& [name, value] : m.node().args) {
    if (std::find(names.begin(), names.end(), name) == names.end()) args.emplace_back(name, value);
  }
  return args;
}

/// Codes of an i32 bias: one scale sx * sw of the accumulators per scale of the weights.
Value* decoded_bias(Compose& c, Value* bias, float sx, const Format& w) {
  if (!c.ok()) return nullptr;
  std::vector<float> scales;
  for (int64_t i = 0; i < w.scale.values.size(); ++i) scales.push_back(sx * w.scale_at(i));
  const auto type = known_format(bias->dtype(), bias->shape(), bias->rank() - 1, scales, {});
  return type ? c.emit("dequantize", {as_codes(c, bias, *type)}) : nullptr;
}

DType code_type(const Import& m, size_t zero, size_t codes) {
  return m.has(zero) ? m.in(zero)->dtype() : m.has(codes) ? m.in(codes)->dtype() : DType::u8;
}

/// The formats of activation and weights where both are known and the weights are constant.
struct Weighted {
  std::optional<QType> x, w;
  bool usable = false;
};
Weighted weighted(const Import& m, Value* x, const Coding& cx, Value* w, const Coding& cw,
                  Value* bias) {
  Weighted out;
  if (!x || !w || (bias && (!bias->is_constant() || bias->dtype() != DType::i32))) return out;
  out.x = known_format(m.graph(), x->dtype(), x->shape(), cx);
  out.w = known_format(m.graph(), w->dtype(), w->shape(), cw);
  out.usable = out.x && out.w && out.x->format->granularity == Granularity::tensor;
  return out;
}

Result<Values> qlinear_conv(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 8; ++i) c.take(operand(m, i));
  const bool last = c.take(m.b("channels_last", false));
  if (!c.ok()) return c.done({});
  const Coding cx{m.in(1), m.in(2)}, cw{m.in(4), m.in(5), 0}, cy{m.in(6), m.in(7)};
  const Weighted q = weighted(m, m.in(0), cx, m.in(3), cw, m.in(8));
  Value* bias = nullptr;
  if (q.usable && m.has(8)) bias = decoded_bias(c, m.in(8), q.x->format->scale_at(), *q.w->format);
  if (!q.usable || !m.in(3)->is_constant() || (m.has(8) && !bias)) {
    return onnx_codes::exact_qlinear_conv(m);
  }
  Value* x = last ? transposed(c, m.in(0), false) : m.in(0);
  Value* y = c("Conv", {decode(c, x, cx), decode(c, m.in(3), cw), bias},
               args_without(m, {"channels_last"}));
  y = encode(c, y, cy, m.in(7)->dtype(), kOperators);
  return c.done({last ? transposed(c, y, true) : y});
}

Result<Values> qlinear_matmul(Import& m) {
  Compose c(m);
  for (size_t i = 0; i < 8; ++i) c.take(operand(m, i));
  if (!c.ok()) return c.done({});
  const Coding ca{m.in(1), m.in(2)}, cb{m.in(4), m.in(5), m.in(3)->rank() - 1},
      cy{m.in(6), m.in(7)};
  const Weighted q = weighted(m, m.in(0), ca, m.in(3), cb, nullptr);
  const bool scalars = q.usable && (q.w->format->granularity == Granularity::tensor ||
                                    (m.in(3)->is_constant() && m.in(3)->rank() == 2));
  if (!scalars || m.in(0)->rank() < 2 || m.in(3)->rank() < 2) {
    return onnx_codes::exact_qlinear_matmul(m);
  }
  Value* y = c("MatMul", {decode(c, m.in(0), ca), decode(c, m.in(3), cb)});
  return c.done({encode(c, y, cy, m.in(7)->dtype(), kOperators)});
}

/// alpha scales the accumulators, so it belongs to the scale of a.
Result<Values> qgemm(Import& m) {
  Compose c(m);
  for (size_t i : {0, 1, 3, 4}) c.take(operand(m, i));
  const double alpha = c.take(m.f("alpha", 1));
  const bool trans_a = c.take(m.b("transA", false)), trans_b = c.take(m.b("transB", false));
  if (!c.ok()) return c.done({});
  Value *a = m.in(0), *b = m.in(3), *bias = m.in(6);
  if (alpha != 1 && m.in(1)->is_constant()) {
    Value* scaled = c("Mul", {c.number(alpha, DType::f32), m.in(1)});
    if (!c.ok() || !scaled->is_constant()) return onnx_codes::exact_qgemm(m);
    ForeignNode node = m.node();
    node.inputs[1] = scaled;
    for (auto& [name, value] : node.args) {
      if (name == "alpha") value = 1.0;
    }
    Import unscaled(m.graph(), node);
    return qgemm(unscaled);
  }
  const Coding ca{m.in(1), m.in(2)}, cb{m.in(4), m.in(5), trans_b ? 0 : 1};
  const Weighted q = weighted(m, a, ca, b, cb, bias);
  const bool row = !bias || bias->rank() == 1 || (bias->rank() == 2 && bias->shape()[0] == Dim(1));
  Value* c_bias = nullptr;
  if (q.usable && bias && row) {
    if (bias->rank() == 2) bias = c.reshape(bias, {bias->shape()[1]});
    c_bias = decoded_bias(c, bias, q.x->format->scale_at(), *q.w->format);
  }
  if (!q.usable || !b->is_constant() || (bias && !c_bias)) return onnx_codes::exact_qgemm(m);
  if (trans_a) a = c("Transpose", {a});
  Value* y = c("Gemm", {decode(c, a, ca), decode(c, b, cb), c_bias}, {{"transB", trans_b}});
  if (!m.has(7)) return c.done({y});
  return c.done({encode(c, y, {m.in(7), m.in(8)}, code_type(m, 8, 0), kOperators)});
}

/// Codes at operand i, their scale and zero point at i + 1 and i + 2, as f32.
Value* decoded(Compose& c, size_t i) {
  const Import& m = c.import();
  Value* x = c.take(operand(m, i));
  Value* scale = c.take(operand(m, i + 1));
  return decode(c, x, {scale, m.in(i + 2)});
}
/// Codes of v with the scale and zero point at operands i and i + 1.
Value* encoded(Compose& c, Value* v, size_t i, size_t codes = 0) {
  const Import& m = c.import();
  Value* scale = c.take(operand(m, i));
  return encode(c, v, {scale, m.in(i + 1)}, code_type(m, i + 1, codes), kOperators);
}

template <OpName Op>
Result<Values> qlinear_unary(Import& m) {
  Compose c(m);
  Value* x = decoded(c, 0);
  return c.done({encoded(c, c(Op.text, {x}, args_without(m, {})), 3)});
}

template <OpName Op>
Result<Values> qlinear_pool(Import& m) {
  Compose c(m);
  const bool last = c.take(m.b("channels_last", false));
  Value* x = decoded(c, 0);
  if (last) x = transposed(c, x, false);
  Value* y = encoded(c, c(Op.text, {x}, args_without(m, {"channels_last"})), 3);
  return c.done({last ? transposed(c, y, true) : y});
}

/// Maxima of codes, channels last.
Result<Values> nhwc_max_pool(Import& m) {
  Compose c(m);
  Value* x = transposed(c, c.take(operand(m, 0)), false);
  return c.done({transposed(c, c("MaxPool", {x}, args_without(m, {})), true)});
}

/// Before opset 13 a softmax was over all axes from `axis` on.
Result<Values> qlinear_softmax(Import& m) {
  Compose c(m);
  const int64_t opset = c.take(m.i("opset", 13)), given = c.take(m.i("axis", opset < 13 ? 1 : -1));
  Value* x = decoded(c, 0);
  if (!c.ok()) return c.done({});
  const int64_t axis = c.take(resolve_axis(given, x->rank(), m.loc()));
  const Dims shape = x->shape();
  if (opset < 13 && c.ok()) {
    const auto split = shape.begin() + axis;
    x = c.reshape(x, {product(Dims(shape.begin(), split)), product(Dims(split, shape.end()))});
  }
  Value* y = encoded(c, c("Softmax", {x}, {{"axis", opset < 13 ? int64_t{1} : axis}}), 3);
  return c.done({c.reshape(y, shape)});
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
  return c.done({encoded(c, y, 0, 2)});
}

Result<Values> qlinear_where(Import& m) {
  Compose c(m);
  Value* condition = c.take(operand(m, 0));
  Value* a = decoded(c, 1);
  Value* b = decoded(c, 4);
  return c.done({encoded(c, c("Where", {condition, a, b}), 7, 1)});
}

constexpr ImportRow kRows[] = {
    {"", "QuantizeLinear", quantize_linear, 10},
    {"", "DequantizeLinear", dequantize_linear, 10},
    {"com.microsoft", "QuantizeLinear", quantize_linear},
    {"com.microsoft", "DequantizeLinear", dequantize_linear},
    {"", "DynamicQuantizeLinear", dynamic_quantize_linear, 11},
    {"", "MatMulInteger", onnx_codes::matmul_integer, 10},
    {"", "ConvInteger", onnx_codes::conv_integer, 10},
    {"", "QLinearMatMul", qlinear_matmul, 10},
    {"", "QLinearConv", qlinear_conv, 10},
    {"com.microsoft", "QLinearConv", qlinear_conv},
    {"com.microsoft", "QGemm", qgemm},
    {"com.microsoft", "MatMulIntegerToFloat", matmul_to_float},
    {"com.microsoft", "DynamicQuantizeMatMul", dynamic_quantize_matmul},
    {"com.microsoft", "QLinearAdd", qlinear_binary<"Add">},
    {"com.microsoft", "QLinearMul", qlinear_binary<"Mul">},
    {"com.microsoft", "QLinearAveragePool", qlinear_pool<"AveragePool">},
    {"com.microsoft", "QLinearGlobalAveragePool", qlinear_pool<"GlobalAveragePool">},
    {"com.microsoft", "NhwcMaxPool", nhwc_max_pool},
    {"com.microsoft", "QLinearSoftmax", qlinear_softmax},
    {"com.microsoft", "QLinearSigmoid", qlinear_unary<"Sigmoid">},
    {"com.microsoft", "QLinearLeakyRelu", qlinear_unary<"LeakyRelu">},
    {"com.microsoft", "QLinearConcat", qlinear_concat},
    {"com.microsoft", "QLinearWhere", qlinear_where},
};

}  // namespace

void register_quantize_onnx(Registration& r) { r.imports(kRows); }

}  // namespace qc
