#include "ops/common/importing.h"
#include "ops/unary/unary.h"

namespace qc {
namespace {

template <OpName kName>
Result<Values> onnx_unary(Import& m) {
  return one(m.emit(kName.text, {m.in(0)}));
}

/// A function with parameters: attribute names and defaults are ONNX's.
Result<Values> onnx_scaled(const Import& m, const char* op, const char* a, double a_default,
                           const char* b = nullptr, double b_default = 0) {
  AttrMap attrs;
  QC_ASSIGN(attrs[a], m.f(a, a_default));
  if (b) {
    QC_ASSIGN(attrs[b], m.f(b, b_default));
  }
  return one(m.emit(op, {m.in(0)}, attrs));
}

Result<Values> onnx_leaky_relu(Import& m) { return onnx_scaled(m, "leaky_relu", "alpha", 0.01); }
Result<Values> onnx_elu(Import& m) { return onnx_scaled(m, "elu", "alpha", 1); }
Result<Values> onnx_celu(Import& m) { return onnx_scaled(m, "celu", "alpha", 1); }
Result<Values> onnx_selu_1(Import& m) {
  return onnx_scaled(m, "selu", "alpha", 1.6732, "gamma", 1.0507);
}
Result<Values> onnx_selu(Import& m) {
  return onnx_scaled(m, "selu", "alpha", 1.67326319217681884765625, "gamma",
                     1.05070102214813232421875);
}
Result<Values> onnx_hard_sigmoid(Import& m) {
  return onnx_scaled(m, "hard_sigmoid", "alpha", 0.2, "beta", 0.5);
}
Result<Values> onnx_thresholded_relu(Import& m) {
  return onnx_scaled(m, "thresholded_relu", "alpha", 1);
}
Result<Values> onnx_shrink(Import& m) {
  QC_ASSIGN(Value * x, operand(m, 0));
  if (!is_float(x->dtype())) return m.fail(Code::unsupported, "Shrink of {}", name(x->dtype()));
  return onnx_scaled(m, "shrink", "lambd", 0.5, "bias", 0);
}
Result<Values> onnx_affine(Import& m) { return onnx_scaled(m, "affine", "alpha", 1, "beta", 0); }
Result<Values> onnx_scaled_tanh(Import& m) {
  return onnx_scaled(m, "scaled_tanh", "alpha", 1, "beta", 1);
}

Result<Values> swish(const Import& m, double standard) {
  QC_ASSIGN(const double alpha, m.f("alpha", standard));
  if (alpha == 1) return one(m.emit("silu", {m.in(0)}));
  return one(m.emit("swish", {m.in(0)}, {{"alpha", alpha}}));
}

Result<Values> onnx_swish(Import& m) { return swish(m, 1); }
Result<Values> ms_quick_gelu(Import& m) { return swish(m, 1.702); }

Result<Values> onnx_gelu(Import& m) {
  QC_ASSIGN(const std::string given, m.s("approximate", "none"));
  const std::string_view approximate = given;
  if (approximate != "none" && approximate != "tanh") {
    return m.fail(Code::attribute, "approximate is '{}', expected 'none' or 'tanh'", approximate);
  }
  return one(m.emit(approximate == "tanh" ? "gelu_tanh" : "gelu", {m.in(0)}));
}

Result<Value*> biased(const Import& m) {
  QC_ASSIGN(Value * x, operand(m, 0));
  return m.has(1) ? m.emit("add", {x, m.in(1)}) : Result<Value*>(x);
}
Result<Values> ms_bias_gelu(Import& m) {
  QC_ASSIGN(Value * x, biased(m));
  return one(m.emit("gelu", {x}));
}
Result<Values> ms_fast_gelu(Import& m) {
  QC_ASSIGN(Value * x, biased(m));
  return one(m.emit("gelu_tanh", {x}));
}

Result<Values> onnx_isinf(Import& m) {
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(const bool negative, m.b("detect_negative", true));
  QC_ASSIGN(const bool positive, m.b("detect_positive", true));
  if (negative && positive) return one(m.emit("isinf", {x}));
  if (negative || positive) {
    return one(m.emit("eq", {x, m.scalar(positive ? kInf : -kInf, x->dtype())}));
  }
  return one(m.emit("lt", {x, x}));
}

/// Rounding of integers changes nothing.
template <OpName kName>
Result<Values> onnx_rounding(Import& m) {
  QC_ASSIGN(Value * x, operand(m, 0));
  if (!is_float(x->dtype())) return Values{x};
  return one(m.emit(kName.text, {x}));
}

constexpr ImportRow kOnnxRows[] = {
    {"", "Abs", onnx_unary<"abs">},
    {"", "Neg", onnx_unary<"neg">},
    {"", "Sign", onnx_unary<"sign">},
    {"", "Floor", onnx_rounding<"floor">},
    {"", "Ceil", onnx_rounding<"ceil">},
    {"", "Round", onnx_rounding<"round">},
    {"", "Exp", onnx_unary<"exp">},
    {"", "Log", onnx_unary<"log">},
    {"", "Sqrt", onnx_unary<"sqrt">},
    {"", "Reciprocal", onnx_unary<"reciprocal">},
    {"", "Sin", onnx_unary<"sin">},
    {"", "Cos", onnx_unary<"cos">},
    {"", "Tan", onnx_unary<"tan">},
    {"", "Asin", onnx_unary<"asin">},
    {"", "Acos", onnx_unary<"acos">},
    {"", "Atan", onnx_unary<"atan">},
    {"", "Sinh", onnx_unary<"sinh">},
    {"", "Cosh", onnx_unary<"cosh">},
    {"", "Asinh", onnx_unary<"asinh">},
    {"", "Acosh", onnx_unary<"acosh">},
    {"", "Atanh", onnx_unary<"atanh">},
    {"", "Tanh", onnx_unary<"tanh">},
    {"", "Erf", onnx_unary<"erf">},
    {"", "Sigmoid", onnx_unary<"sigmoid">},
    {"", "Softplus", onnx_unary<"softplus">},
    {"", "Softsign", onnx_unary<"softsign">},
    {"", "Mish", onnx_unary<"mish">},
    {"", "HardSwish", onnx_unary<"hardswish">},
    {"", "Not", onnx_unary<"logical_not">},
    {"", "BitwiseNot", onnx_unary<"bit_not">},
    {"", "IsNaN", onnx_unary<"isnan">},
    {"", "IsInf", onnx_isinf},
    {"", "LeakyRelu", onnx_leaky_relu},
    {"", "Elu", onnx_elu},
    {"", "Celu", onnx_celu},
    {"", "Selu", onnx_selu_1},
    {"", "Selu", onnx_selu, 6},
    {"", "HardSigmoid", onnx_hard_sigmoid},
    {"", "ThresholdedRelu", onnx_thresholded_relu},
    {"", "Shrink", onnx_shrink},
    {"", "Swish", onnx_swish},
    {"", "Affine", onnx_affine},
    {"", "ScaledTanh", onnx_scaled_tanh},
    {"", "Gelu", onnx_gelu},
    {"com.microsoft", "Gelu", onnx_unary<"gelu">},
    {"com.microsoft", "BiasGelu", ms_bias_gelu},
    {"com.microsoft", "FastGelu", ms_fast_gelu},
    {"com.microsoft", "QuickGelu", ms_quick_gelu},
};

}  // namespace

std::span<const ImportRow> unary_onnx_rows() { return kOnnxRows; }

}  // namespace qc
