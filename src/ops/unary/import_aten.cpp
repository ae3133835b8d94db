#include <cmath>

#include "ops/common/importing.h"
#include "ops/common/narrow.h"
#include "ops/unary/unary.h"

namespace qc {
namespace {

/// A function of floats; integers become f32 first.
template <OpName kName>
Result<Values> aten_float(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(x, as_float(m, x));
  return one(m.emit(kName.text, {x}));
}

/// A function that keeps the type of integers.
template <OpName kName>
Result<Values> aten_any(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return one(m.emit(kName.text, {x}));
}

/// A rounding: integers stay as they are.
template <OpName kName>
Result<Values> aten_rounding(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (!is_float(x->dtype())) return Values{x};
  return one(m.emit(kName.text, {x}));
}

/// A test: no integer is NaN or infinite.
template <OpName kName>
Result<Values> aten_test(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (!is_float(x->dtype())) return one(m.emit("ne", {x, x}));
  return one(m.emit(kName.text, {x}));
}

Result<Values> aten_isfinite(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return one(m.emit(is_float(x->dtype()) ? "isfinite" : "eq",
                    is_float(x->dtype()) ? Values{x} : Values{x, x}));
}

Result<Values> aten_signbit(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (!is_float(x->dtype())) return one(m.emit("lt", {x, m.scalar_int(0, x->dtype())}));
  return one(m.emit("signbit", {x}));
}

Result<Values> aten_scaled(const Import& m, const char* op, const AttrMap& attrs) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(x, as_float(m, x));
  return one(m.emit(op, {x}, attrs));
}

Result<Values> aten_gelu(Import& m) {
  QC_ASSIGN(const std::string approximate, m.s("approximate", "none"));
  return aten_scaled(m, approximate == "tanh" ? "gelu_tanh" : "gelu", {});
}

Result<Values> aten_leaky_relu(Import& m) {
  QC_ASSIGN(const double slope, m.f("negative_slope", 0.01));
  return aten_scaled(m, "leaky_relu", {{"alpha", slope}});
}

/// scale * (x > 0 ? x : alpha * (exp(input_scale x) - 1)).
Result<Values> aten_elu(Import& m) {
  QC_ASSIGN(const double alpha, m.f("alpha", 1));
  QC_ASSIGN(const double scale, m.f("scale", 1));
  QC_ASSIGN(const double input_scale, m.f("input_scale", 1));
  if (scale == 1 && input_scale == 1) return aten_scaled(m, "elu", {{"alpha", alpha}});
  if (input_scale == 1) return aten_scaled(m, "selu", {{"alpha", alpha}, {"gamma", scale}});
  if (scale == 1 && std::abs(alpha * input_scale - 1) < 1e-6) {
    return aten_scaled(m, "celu", {{"alpha", alpha}});
  }
  return m.fail(Code::unsupported, "elu with scale {} and input_scale {}", scale, input_scale);
}

Result<Values> aten_celu(Import& m) {
  QC_ASSIGN(const double alpha, m.f("alpha", 1));
  return aten_scaled(m, "celu", {{"alpha", alpha}});
}

Result<Values> aten_softplus(Import& m) {
  QC_ASSIGN(const double beta, m.f("beta", 1));
  QC_ASSIGN(const double threshold, m.f("threshold", 20));
  if (beta == 1 && threshold == 20) return aten_scaled(m, "softplus", {});
  return aten_scaled(m, "softplus_beta", {{"beta", beta}, {"threshold", threshold}});
}

Result<Values> aten_threshold(Import& m) {
  QC_ASSIGN(const double threshold, m.f("threshold", 0));
  QC_ASSIGN(const double value, m.f("value", 0));
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (!is_float(x->dtype())) {  // integers stay integers
    QC_ASSIGN(Value * above, m.emit("gt", {x, m.scalar(threshold, x->dtype())}));
    return one(m.emit("where", {above, x, m.scalar(value, x->dtype())}));
  }
  if (threshold == 0 && value == 0) return one(m.emit("clamp", {x}, {{"lo", 0.0}}));  // relu
  return aten_scaled(m, "threshold", {{"threshold", threshold}, {"value", value}});
}

Result<Values> aten_softshrink(Import& m) {
  QC_ASSIGN(const double lambd, m.f("lambd", 0.5));
  return aten_scaled(m, "shrink", {{"lambd", lambd}, {"bias", lambd}});
}

Result<Values> aten_hardshrink(Import& m) {
  QC_ASSIGN(const double lambd, m.f("lambd", 0.5));
  return aten_scaled(m, "shrink", {{"lambd", lambd}, {"bias", 0.0}});
}

/// x times a constant.
Result<Values> times(const Import& m, double factor) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(x, as_float(m, x));
  return one(m.emit("mul", {x, m.scalar(factor, x->dtype())}));
}
Result<Values> aten_deg2rad(Import& m) { return times(m, M_PI / 180); }
Result<Values> aten_rad2deg(Import& m) { return times(m, 180 / M_PI); }

Result<Values> aten_identity(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return Values{x};
}

Result<Values> aten_bitwise_not(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  return one(m.emit(x->dtype() == DType::boolean ? "logical_not" : "bit_not", {x}));
}

Result<Values> aten_logical_not(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(x, m.cast(x, DType::boolean));
  return one(m.emit("logical_not", {x}));
}

/// The first half of an axis times the sigmoid of the second.
Result<Values> aten_glu(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(int64_t axis, m.i("dim", -1));
  QC_ASSIGN(axis, resolve_axis(axis, x->rank(), m.loc()));
  const Dim size = x->shape()[static_cast<size_t>(axis)];
  const Dim half = floordiv(size, Dim(2));
  if (!(half * Dim(2) == size)) {
    return m.fail(size.is_static() ? Code::shape : Code::dim,
                  "axis {} has size {}, expected an even one", axis, size.str());
  }
  const auto part = [&](const Dim& from) {
    Dims start(x->shape().size(), 0), extent = x->shape();
    start[static_cast<size_t>(axis)] = from;
    extent[static_cast<size_t>(axis)] = half;
    return m.emit("slice", {x},
                  {{"start", start}, {"size", extent}, {"step", Dims(start.size(), 1)}});
  };
  QC_ASSIGN(Value * first, part(Dim(0)));
  QC_ASSIGN(Value * second, part(half));
  QC_ASSIGN(second, m.emit("sigmoid", {second}));
  return one(m.emit("mul", {first, second}));
}

/// round(x * 10^decimals) / 10^decimals.
Result<Values> aten_round_decimals(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const int64_t decimals, m.i("decimals", 0));
  if (!is_float(x->dtype())) return Values{x};
  Value* const scale =
      m.scalar(std::pow(10.0, static_cast<double>(std::abs(decimals))), x->dtype());
  QC_ASSIGN(x, m.emit(decimals < 0 ? "div" : "mul", {x, scale}));
  QC_ASSIGN(x, m.emit("round", {x}));
  return one(m.emit(decimals < 0 ? "mul" : "div", {x, scale}));
}

/// log(x / (1 - x)), x limited to [eps, 1 - eps] when eps is given.
Result<Values> aten_logit(Import& m) {
  QC_ASSIGN(const double eps, m.f("eps", -1));
  return aten_scaled(m, "logit", {{"eps", eps}});
}

Result<Values> aten_nan_to_num(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (!is_float(x->dtype())) return Values{x};
  const double top = x->dtype() == DType::f64    ? 1.7976931348623157e308
                     : x->dtype() == DType::f16  ? 65504.0
                     : x->dtype() == DType::bf16 ? 3.3895313892515355e38
                                                 : 3.4028234663852886e38;
  QC_ASSIGN(const double nan, m.f("nan", 0));
  QC_ASSIGN(const double high, m.f("posinf", top));
  QC_ASSIGN(const double low, m.f("neginf", -top));
  const auto replaced = [&](Value* test, double by, Value* v) {
    return m.emit("where", {test, m.scalar(by, v->dtype()), v});
  };
  QC_ASSIGN(Value * is_nan, m.emit("isnan", {x}));
  QC_ASSIGN(Value * is_high, m.emit("eq", {x, m.scalar(kInf, x->dtype())}));
  QC_ASSIGN(Value * is_low, m.emit("eq", {x, m.scalar(-kInf, x->dtype())}));
  QC_ASSIGN(x, replaced(is_nan, nan, x));
  QC_ASSIGN(x, replaced(is_high, high, x));
  return one(replaced(is_low, low, x));
}

/// PyTorch's sign of NaN is 0, ours NaN. Bool values are their own sign.
Result<Values> aten_sign(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (x->dtype() == DType::boolean) return Values{x};
  if (is_float(x->dtype())) {
    QC_ASSIGN(Value * bad, m.emit("isnan", {x}));
    QC_ASSIGN(x, m.emit("where", {bad, m.scalar(0, x->dtype()), x}));
  }
  return one(m.emit("sign", {x}));
}

/// Of bool values the square is an i64.
Result<Values> aten_square(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (x->dtype() == DType::boolean) return one(m.cast(x, DType::i64));
  return one(m.emit("square", {x}));
}

/// Whether an element is the infinity of one sign.
template <int kSign>
Result<Values> aten_is_infinity(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  if (!is_float(x->dtype())) return one(m.emit("ne", {x, x}));
  return one(m.emit("eq", {x, m.scalar(kSign * kInf, x->dtype())}));
}

/// The distribution function of the normal distribution.
Result<Values> aten_ndtr(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(x, as_float(m, x));
  QC_ASSIGN(x, m.emit("mul", {x, m.scalar(-M_SQRT1_2, x->dtype())}));
  QC_ASSIGN(x, m.emit("erfc", {x}));
  return one(m.emit("mul", {x, m.scalar(0.5, x->dtype())}));
}

/// -x ln x, 0 at 0 and -inf below.
Result<Values> aten_entr(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(x, as_float(m, x));
  QC_ASSIGN(Value * below, m.emit("lt", {x, m.scalar(0, x->dtype())}));
  QC_ASSIGN(Value * y, m.emit("xlogy", {x, x}));
  QC_ASSIGN(y, m.emit("neg", {y}));
  return one(m.emit("where", {below, m.scalar(-kInf, x->dtype()), y}));
}

constexpr ImportRow kAtenRows[] = {
    {"aten", "abs.default", aten_any<"abs">},
    {"aten", "absolute.default", aten_any<"abs">},
    {"aten", "neg.default", aten_any<"neg">},
    {"aten", "negative.default", aten_any<"neg">},
    {"aten", "sign.default", aten_sign},
    {"aten", "sgn.default", aten_sign},
    {"aten", "square.default", aten_square},
    {"aten", "positive.default", aten_identity, 1, Alias::view},
    {"aten", "floor.default", aten_rounding<"floor">},
    {"aten", "ceil.default", aten_rounding<"ceil">},
    {"aten", "round.default", aten_rounding<"round">},
    {"aten", "round.decimals", in_f32<aten_round_decimals>},
    {"aten", "trunc.default", aten_rounding<"trunc">},
    {"aten", "fix.default", aten_rounding<"trunc">},
    {"aten", "frac.default", aten_float<"frac">},
    {"aten", "exp.default", aten_float<"exp">},
    {"aten", "exp2.default", aten_float<"exp2">},
    {"aten", "expm1.default", aten_float<"expm1">},
    {"aten", "log.default", aten_float<"log">},
    {"aten", "log2.default", aten_float<"log2">},
    {"aten", "log10.default", aten_float<"log10">},
    {"aten", "log1p.default", aten_float<"log1p">},
    {"aten", "sqrt.default", aten_float<"sqrt">},
    {"aten", "rsqrt.default", aten_float<"rsqrt">},
    {"aten", "reciprocal.default", aten_float<"reciprocal">},
    {"aten", "sin.default", aten_float<"sin">},
    {"aten", "cos.default", aten_float<"cos">},
    {"aten", "tan.default", aten_float<"tan">},
    {"aten", "asin.default", aten_float<"asin">},
    {"aten", "arcsin.default", aten_float<"asin">},
    {"aten", "acos.default", aten_float<"acos">},
    {"aten", "arccos.default", aten_float<"acos">},
    {"aten", "atan.default", aten_float<"atan">},
    {"aten", "arctan.default", aten_float<"atan">},
    {"aten", "sinh.default", aten_float<"sinh">},
    {"aten", "cosh.default", aten_float<"cosh">},
    {"aten", "asinh.default", aten_float<"asinh">},
    {"aten", "acosh.default", aten_float<"acosh">},
    {"aten", "atanh.default", aten_float<"atanh">},
    {"aten", "tanh.default", aten_float<"tanh">},
    {"aten", "sigmoid.default", aten_float<"sigmoid">},
    {"aten", "special_expit.default", aten_float<"sigmoid">},
    {"aten", "log_sigmoid.default", aten_float<"log_sigmoid">},
    {"aten", "log_sigmoid_forward.default", aten_float<"log_sigmoid">},
    {"aten", "erf.default", aten_float<"erf">},
    {"aten", "special_erf.default", aten_float<"erf">},
    {"aten", "erfc.default", aten_float<"erfc">},
    {"aten", "erfinv.default", aten_float<"erfinv">},
    {"aten", "special_ndtr.default", in_f32<aten_ndtr>},
    {"aten", "special_entr.default", in_f32<aten_entr>},
    {"aten", "softplus.default", aten_softplus},
    {"aten", "silu.default", aten_float<"silu">},
    {"aten", "gelu.default", aten_gelu},
    {"aten", "mish.default", aten_float<"mish">},
    {"aten", "hardswish.default", aten_float<"hardswish">},
    {"aten", "hardsigmoid.default", aten_float<"hard_sigmoid">},
    {"aten", "leaky_relu.default", aten_leaky_relu},
    {"aten", "elu.default", aten_elu},
    {"aten", "celu.default", aten_celu},
    {"aten", "selu.default", aten_float<"selu">},
    {"aten", "threshold.default", aten_threshold},
    {"aten", "softshrink.default", aten_softshrink},
    {"aten", "hardshrink.default", aten_hardshrink},
    {"aten", "glu.default", in_f32<aten_glu>},
    {"aten", "deg2rad.default", in_f32<aten_deg2rad>},
    {"aten", "rad2deg.default", in_f32<aten_rad2deg>},
    {"aten", "logit.default", aten_logit},
    {"aten", "special_logit.default", aten_logit},
    {"aten", "sinc.default", aten_float<"sinc">},
    {"aten", "special_sinc.default", aten_float<"sinc">},
    {"aten", "lgamma.default", aten_float<"lgamma">},
    {"aten", "special_gammaln.default", aten_float<"lgamma">},
    {"aten", "digamma.default", aten_float<"digamma">},
    {"aten", "special_digamma.default", aten_float<"digamma">},
    {"aten", "nan_to_num.default", aten_nan_to_num},
    {"aten", "isnan.default", aten_test<"isnan">},
    {"aten", "isinf.default", aten_test<"isinf">},
    {"aten", "isposinf.default", aten_is_infinity<1>},
    {"aten", "isneginf.default", aten_is_infinity<-1>},
    {"aten", "isfinite.default", aten_isfinite},
    {"aten", "signbit.default", aten_signbit},
    {"aten", "bitwise_not.default", aten_bitwise_not},
    {"aten", "logical_not.default", aten_logical_not},
};

}  // namespace

std::span<const ImportRow> unary_aten_rows() { return kAtenRows; }

}  // namespace qc
