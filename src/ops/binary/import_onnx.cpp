#include "ops/binary/binary.h"
#include "ops/common/importing.h"

namespace qc {
namespace {

/// Operand b as opset 1 to 6 broadcast it: with `axis`, its dims stand from there on.
Result<Value*> placed_at_axis(const Import& m, Value* a, Value* b) {
  if (m.version() >= 7 || !m.given("axis")) return b;
  QC_ASSIGN(int64_t axis, m.i("axis", 0));
  QC_ASSIGN(axis, resolve_axis(axis, std::max<int64_t>(a->rank(), 1), m.loc()));
  Dims shape = b->shape();
  const int64_t after = a->rank() - axis - b->rank();
  if (after < 0) {
    return m.fail(Code::shape, "operand of shape {} does not fit {} from axis {} on",
                  str(b->shape()), str(a->shape()), axis);
  }
  if (after == 0) return b;
  shape.insert(shape.end(), static_cast<size_t>(after), Dim(1));
  return m.emit("reshape", {b}, {{"shape", shape}});
}

Result<std::pair<Value*, Value*>> both(const Import& m) {
  QC_ASSIGN(Value * a, operand(m, 0));
  QC_ASSIGN(Value * b, operand(m, 1));
  QC_ASSIGN(b, placed_at_axis(m, a, b));
  return std::pair{a, b};
}

template <OpName kName>
Result<Values> onnx_binary(Import& m) {
  QC_ASSIGN(auto ab, both(m));
  return one(m.emit(kName.text, {ab.first, ab.second}));
}

/// Max, Min, Sum of any number of operands, from the left.
Result<Value*> chain(const Import& m, const char* op) {
  QC_ASSIGN(Value * y, operand(m, 0));
  for (size_t i = 1; i < m.input_count(); ++i) {
    QC_ASSIGN(y, m.emit(op, {y, m.in(i)}));
  }
  return y;
}
template <OpName kName>
Result<Values> onnx_variadic(Import& m) {
  return one(chain(m, kName.text));
}

Result<Values> onnx_mean(Import& m) {
  QC_ASSIGN(Value * sum, chain(m, "add"));
  if (m.input_count() == 1) return Values{sum};
  Value* const count = m.scalar_int(static_cast<int64_t>(m.input_count()), sum->dtype());
  return one(m.emit("div", {sum, count}));
}

/// The exponent may have another type than the base; the result has the base's.
Result<Values> onnx_pow(Import& m) {
  QC_ASSIGN(auto ab, both(m));
  auto [base, exponent] = ab;
  const DType type = base->dtype();
  if (exponent->is_constant() && exponent->rank() == 0 && is_float(type)) {
    QC_ASSIGN(Tensor e, m.constant(exponent, "exponent"));
    if (e.as_double(0) == 2) return one(m.emit("square", {base}));
  }
  DType computed = type;
  if (is_float(exponent->dtype()) && !is_float(type)) {
    computed = bits(type) > 16 ? DType::f64 : DType::f32;
  }
  QC_ASSIGN(base, m.cast(base, computed));
  QC_ASSIGN(exponent, m.cast(exponent, computed));
  QC_ASSIGN(Value * y, m.emit("pow", {base, exponent}));
  return one(m.cast(y, type));
}

Result<Values> onnx_mod(Import& m) {
  QC_ASSIGN(const bool c_style, m.b("fmod", false));
  return one(m.emit(c_style ? "fmod" : "mod", {m.in(0), m.in(1)}));
}

Result<Values> onnx_bit_shift(Import& m) {
  QC_ASSIGN(const std::string direction, m.s("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT") {
    return m.fail(Code::attribute, "direction is '{}', expected 'LEFT' or 'RIGHT'", direction);
  }
  return one(m.emit(direction == "LEFT" ? "shl" : "shr", {m.in(0), m.in(1)}));
}

/// The slope broadcasts to the right; before version 7, and where only that fits, it is one number
/// per channel.
Result<Values> onnx_prelu(Import& m) {
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(Value * slope, operand(m, 1));
  const Dims& s = slope->shape();
  if (s.size() == 1 && x->rank() > 2 && !(s[0] == Dim(1)) && s[0] == x->shape()[1] &&
      (m.version() < 7 || !(s[0] == x->shape().back()))) {
    Dims shape(static_cast<size_t>(x->rank() - 1), Dim(1));
    shape[0] = s[0];
    QC_ASSIGN(slope, m.emit("reshape", {slope}, {{"shape", shape}}));
  }
  if (is_float(x->dtype())) return one(m.emit("prelu", {x, slope}));
  QC_ASSIGN(Value * scaled, m.emit("mul", {x, slope}));
  QC_ASSIGN(Value * negative, m.emit("lt", {x, m.scalar_int(0, x->dtype())}));
  return one(m.emit("where", {negative, scaled, x}));
}

constexpr ImportRow kOnnxRows[] = {
    {"", "Add", onnx_binary<"add">},
    {"", "Sub", onnx_binary<"sub">},
    {"", "Mul", onnx_binary<"mul">},
    {"", "Div", onnx_binary<"div">},
    {"", "Pow", onnx_pow},
    {"", "Mod", onnx_mod},
    {"", "Max", onnx_variadic<"max">},
    {"", "Min", onnx_variadic<"min">},
    {"", "Sum", onnx_variadic<"add">},
    {"", "Mean", onnx_mean},
    {"", "PRelu", onnx_prelu},
    {"", "BitShift", onnx_bit_shift},
    {"", "BitwiseAnd", onnx_binary<"bit_and">},
    {"", "BitwiseOr", onnx_binary<"bit_or">},
    {"", "BitwiseXor", onnx_binary<"bit_xor">},
    {"", "And", onnx_binary<"logical_and">},
    {"", "Or", onnx_binary<"logical_or">},
    {"", "Xor", onnx_binary<"logical_xor">},
    {"", "Equal", onnx_binary<"eq">},
    {"", "Less", onnx_binary<"lt">},
    {"", "LessOrEqual", onnx_binary<"le">},
    {"", "Greater", onnx_binary<"gt">},
    {"", "GreaterOrEqual", onnx_binary<"ge">},
};

}  // namespace

std::span<const ImportRow> binary_onnx_rows() { return kOnnxRows; }

}  // namespace qc
