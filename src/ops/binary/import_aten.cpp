#include "ops/binary/binary.h"
#include "ops/common/importing.h"
#include "ops/common/narrow.h"

namespace qc {
namespace {

using Pair = std::pair<Value*, Value*>;

/// The op for bool operands, as PyTorch defines arithmetic on them.
const char* bool_op(std::string_view op) {
  if (op == "add" || op == "max" || op == "bit_or") return "logical_or";
  if (op == "mul" || op == "min" || op == "bit_and") return "logical_and";
  if (op == "bit_xor") return "logical_xor";
  return nullptr;
}

Result<Value*> emit_pair(const Import& m, const char* op, Pair ab) {
  if (ab.first->dtype() == DType::boolean) {
    if (const char* logical = bool_op(op)) op = logical;
  }
  return m.emit(op, {ab.first, ab.second});
}

/// Both operands as floats: integer operands become f32.
Result<Pair> floats(const Import& m, Pair ab) {
  QC_ASSIGN(ab.first, as_float(m, ab.first));
  QC_ASSIGN(ab.second, as_float(m, ab.second));
  return ab;
}

template <OpName kName>
Result<Values> aten_binary(Import& m) {
  QC_ASSIGN(Pair ab, m.promoted("self", "other"));
  return one(emit_pair(m, kName.text, ab));
}

template <OpName kName>
Result<Values> aten_float_binary(Import& m) {
  QC_ASSIGN(Pair ab, m.promoted("self", "other"));
  QC_ASSIGN(ab, floats(m, ab));
  return one(emit_pair(m, kName.text, ab));
}

template <OpName kName>
Result<Values> aten_logical(Import& m) {
  QC_ASSIGN(Value * a, m.tensor("self"));
  QC_ASSIGN(Value * b, m.tensor("other"));
  QC_ASSIGN(a, m.cast(a, DType::boolean));
  QC_ASSIGN(b, m.cast(b, DType::boolean));
  return one(m.emit(kName.text, {a, b}));
}

/// a + alpha * b or a - alpha * b. PyTorch rounds alpha to the type of the operands.
Result<Values> with_alpha(const Import& m, const char* op, Pair ab) {
  const Arg* factor = m.find("alpha");
  const auto* whole = factor ? std::get_if<int64_t>(factor) : nullptr;
  const auto* real = factor ? std::get_if<double>(factor) : nullptr;
  const bool changes = factor && !(whole && *whole == 1) && !(real && *real == 1);
  if (!changes) return one(emit_pair(m, op, ab));
  const DType type = ab.first->dtype();
  QC_ASSIGN(Value * alpha, m.tensor_as("alpha", type));
  for (Value** v : {&ab.first, &ab.second, &alpha}) {
    QC_ASSIGN(*v, m.cast(*v, computed_in(type)));
  }
  QC_ASSIGN(ab.second, emit_pair(m, "mul", {ab.second, alpha}));
  QC_ASSIGN(Value * y, emit_pair(m, op, ab));
  return one(m.cast(y, type));
}

template <OpName kName>
Result<Values> aten_add_sub(Import& m) {
  QC_ASSIGN(const Pair ab, m.promoted("self", "other"));
  return with_alpha(m, kName.text, ab);
}

Result<Values> aten_rsub(Import& m) {
  QC_ASSIGN(const Pair ab, m.promoted("self", "other"));
  return with_alpha(m, "sub", {ab.second, ab.first});
}

Result<Values> aten_div_mode(Import& m) {
  QC_ASSIGN(const std::string mode, m.s("rounding_mode", ""));
  QC_ASSIGN(Pair ab, m.promoted("self", "other"));
  if (mode == "floor") return one(m.emit("floor_div", {ab.first, ab.second}));
  if (mode == "trunc") {
    QC_ASSIGN(Value * y, m.emit("div", {ab.first, ab.second}));
    return is_float(y->dtype()) ? one(m.emit("trunc", {y})) : Result<Values>(Values{y});
  }
  if (!mode.empty()) {
    return m.fail(Code::attribute, "rounding_mode is '{}', expected 'floor' or 'trunc'", mode);
  }
  QC_ASSIGN(ab, floats(m, ab));
  return one(m.emit("div", {ab.first, ab.second}));
}

/// Powers that PyTorch computes by simpler functions.
Result<Values> aten_pow(Import& m) {
  QC_ASSIGN(Pair ab, m.promoted("self", "exponent"));
  auto [x, e] = ab;
  if (e->is_constant() && e->rank() == 0) {
    QC_ASSIGN(Tensor t, m.constant(e, "exponent"));
    const double power = t.as_double(0);
    if (power == 1) return Values{x};
    if (power == 2) return one(m.emit("square", {x}));
    if (power == 3) {
      QC_ASSIGN(Value * square, m.emit("square", {x}));
      return one(m.emit("mul", {square, x}));
    }
    if (is_float(x->dtype())) {
      if (power == 0.5) return one(m.emit("sqrt", {x}));
      if (power == -0.5) return one(m.emit("rsqrt", {x}));
      if (power == -1) return one(m.emit("reciprocal", {x}));
    }
  }
  return one(m.emit("pow", {x, e}));
}

/// self + value * tensor1 (op) tensor2.
Result<Values> add_scaled(const Import& m, const char* op) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Pair ab, m.promoted("tensor1", "tensor2"));
  const DType type = promote(x->dtype(), ab.first->dtype());
  QC_ASSIGN(x, m.cast(x, type));
  QC_ASSIGN(ab.first, m.cast(ab.first, type));
  QC_ASSIGN(ab.second, m.cast(ab.second, type));
  if (m.given("value")) {
    QC_ASSIGN(Value * value, m.tensor_as("value", type));
    QC_ASSIGN(ab.first, m.emit("mul", {ab.first, value}));
  }
  QC_ASSIGN(Value * y, m.emit(op, {ab.first, ab.second}));
  return one(m.emit("add", {x, y}));
}
Result<Values> aten_addcmul(Import& m) { return add_scaled(m, "mul"); }
Result<Values> aten_addcdiv(Import& m) { return add_scaled(m, "div"); }

/// self + weight * (end - self), from the nearer end as PyTorch computes it.
Result<Values> aten_lerp(Import& m) {
  QC_ASSIGN(Pair ab, m.promoted("self", "end"));
  QC_ASSIGN(Value * weight, m.tensor_as("weight", ab.first->dtype()));
  const DType type = ab.first->dtype();
  QC_ASSIGN(Value * span, m.emit("sub", {ab.second, ab.first}));
  QC_ASSIGN(Value * step, m.emit("mul", {weight, span}));
  QC_ASSIGN(Value * low, m.emit("add", {ab.first, step}));
  QC_ASSIGN(Value * rest, m.emit("sub", {m.scalar(1, type), weight}));
  QC_ASSIGN(Value * back, m.emit("mul", {rest, span}));
  QC_ASSIGN(Value * high, m.emit("sub", {ab.second, back}));
  QC_ASSIGN(Value * magnitude, m.emit("abs", {weight}));
  QC_ASSIGN(Value * is_low, m.emit("lt", {magnitude, m.scalar(0.5, type)}));
  return one(m.emit("where", {is_low, low, high}));
}

/// The slope is one number, or one per channel (axis 1).
Result<Values> aten_prelu(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * slope, m.tensor("weight"));
  if (x->rank() == 0) {
    QC_ASSIGN(slope, m.emit("reshape", {slope}, {{"shape", Dims{}}}));
  } else if (slope->rank() == 1 && x->rank() > 2) {
    Dims shape(static_cast<size_t>(x->rank() - 1), Dim(1));
    shape[0] = slope->shape()[0];
    QC_ASSIGN(slope, m.emit("reshape", {slope}, {{"shape", shape}}));
  }
  return one(m.emit("prelu", {x, slope}));
}

Result<Values> aten_ldexp(Import& m) {
  QC_ASSIGN(Pair ab, m.promoted("self", "other"));
  QC_ASSIGN(ab, floats(m, ab));
  QC_ASSIGN(Value * power, m.emit("exp2", {ab.second}));
  return one(m.emit("mul", {ab.first, power}));
}

/// fmax and fmin prefer the operand that is not NaN, which integers never are.
template <OpName kName>
Result<Values> aten_ignoring_nan(Import& m) {
  QC_ASSIGN(Pair ab, m.promoted("self", "other"));
  return one(emit_pair(m, is_float(ab.first->dtype()) ? kName.text : kName.text + 1, ab));
}

/// 0 below zero and for NaN, 1 above, `values` at zero.
Result<Values> aten_heaviside(Import& m) {
  QC_ASSIGN(Pair ab, m.promoted("self", "values"));
  const DType type = ab.first->dtype();
  QC_ASSIGN(ab, floats(m, ab));
  QC_ASSIGN(ab.first, m.emit("fmax", {ab.first, m.scalar(-1, ab.first->dtype())}));
  QC_ASSIGN(Value * y, m.emit("heaviside", {ab.first, ab.second}));
  return one(m.cast(y, type));
}

constexpr ImportRow kAtenRows[] = {
#define QC_BOTH(name, fn) \
  {"aten", name ".Tensor", fn}, { "aten", name ".Scalar", fn }
    QC_BOTH("add", aten_add_sub<"add">),
    QC_BOTH("sub", aten_add_sub<"sub">),
    QC_BOTH("subtract", aten_add_sub<"sub">),
    QC_BOTH("rsub", aten_rsub),
    QC_BOTH("mul", number_in_f32<aten_binary<"mul">>),
    QC_BOTH("multiply", number_in_f32<aten_binary<"mul">>),
    QC_BOTH("div", number_in_f32<aten_float_binary<"div">>),
    QC_BOTH("divide", number_in_f32<aten_float_binary<"div">>),
    QC_BOTH("true_divide", number_in_f32<aten_float_binary<"div">>),
    {"aten", "div.Tensor_mode", number_in_f32<aten_div_mode, true>},
    {"aten", "div.Scalar_mode", number_in_f32<aten_div_mode, true>},
    {"aten", "divide.Tensor_mode", number_in_f32<aten_div_mode, true>},
    {"aten", "divide.Scalar_mode", number_in_f32<aten_div_mode, true>},
    {"aten", "floor_divide.default", number_in_f32<aten_binary<"floor_div">>},
    QC_BOTH("floor_divide", number_in_f32<aten_binary<"floor_div">>),
    QC_BOTH("remainder", aten_binary<"mod">),
    {"aten", "remainder.Scalar_Tensor", aten_binary<"mod">},
    QC_BOTH("fmod", aten_binary<"fmod">),
    {"aten", "pow.Tensor_Scalar", aten_pow},
    {"aten", "pow.Tensor_Tensor", aten_pow},
    {"aten", "pow.Scalar", aten_pow},
    {"aten", "maximum.default", aten_binary<"max">},
    {"aten", "minimum.default", aten_binary<"min">},
    {"aten", "max.other", aten_binary<"max">},
    {"aten", "min.other", aten_binary<"min">},
    {"aten", "fmax.default", aten_ignoring_nan<"fmax">},
    {"aten", "fmin.default", aten_ignoring_nan<"fmin">},
    {"aten", "atan2.default", aten_float_binary<"atan2">},
    {"aten", "arctan2.default", aten_float_binary<"atan2">},
    {"aten", "hypot.default", aten_binary<"hypot">},
    QC_BOTH("copysign", aten_float_binary<"copysign">),
    {"aten", "xlogy.Tensor", aten_float_binary<"xlogy">},
    {"aten", "xlogy.Scalar_Self", aten_float_binary<"xlogy">},
    {"aten", "xlogy.Scalar_Other", aten_float_binary<"xlogy">},
    {"aten", "ldexp.Tensor", in_f32<aten_ldexp>},
    {"aten", "logaddexp.default", aten_float_binary<"logaddexp">},
    {"aten", "heaviside.default", aten_heaviside},
    {"aten", "addcmul.default", in_f32<aten_addcmul>},
    {"aten", "addcdiv.default", in_f32<aten_addcdiv>},
    {"aten", "lerp.Scalar", in_f32<aten_lerp>},
    {"aten", "lerp.Tensor", in_f32<aten_lerp>},
    {"aten", "prelu.default", aten_prelu},
    {"aten", "_prelu_kernel.default", aten_prelu},
    QC_BOTH("eq", aten_binary<"eq">),
    QC_BOTH("ne", aten_binary<"ne">),
    QC_BOTH("not_equal", aten_binary<"ne">),
    QC_BOTH("lt", aten_binary<"lt">),
    QC_BOTH("less", aten_binary<"lt">),
    QC_BOTH("le", aten_binary<"le">),
    QC_BOTH("less_equal", aten_binary<"le">),
    QC_BOTH("gt", aten_binary<"gt">),
    QC_BOTH("greater", aten_binary<"gt">),
    QC_BOTH("ge", aten_binary<"ge">),
    QC_BOTH("greater_equal", aten_binary<"ge">),
    {"aten", "logical_and.default", aten_logical<"logical_and">},
    {"aten", "logical_or.default", aten_logical<"logical_or">},
    {"aten", "logical_xor.default", aten_logical<"logical_xor">},
    QC_BOTH("__and__", aten_binary<"bit_and">),
    QC_BOTH("__or__", aten_binary<"bit_or">),
    QC_BOTH("__xor__", aten_binary<"bit_xor">),
    QC_BOTH("bitwise_and", aten_binary<"bit_and">),
    QC_BOTH("bitwise_or", aten_binary<"bit_or">),
    QC_BOTH("bitwise_xor", aten_binary<"bit_xor">),
    QC_BOTH("__lshift__", aten_binary<"shl">),
    QC_BOTH("__rshift__", aten_binary<"shr">),
    {"aten", "bitwise_left_shift.Tensor", aten_binary<"shl">},
    {"aten", "bitwise_left_shift.Tensor_Scalar", aten_binary<"shl">},
    {"aten", "bitwise_right_shift.Tensor", aten_binary<"shr">},
    {"aten", "bitwise_right_shift.Tensor_Scalar", aten_binary<"shr">},
#undef QC_BOTH
};

}  // namespace

std::span<const ImportRow> binary_aten_rows() { return kAtenRows; }

}  // namespace qc
