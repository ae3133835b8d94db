// Scales and zero points chosen from a range when the network runs.
#include "ops/common/importing.h"
#include "ops/quantize_torch/codes.h"

namespace qc::torch_codes {
namespace {

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

/// For all elements: the range spread over the codes, or the largest magnitude over half of them.
Result<Values> choose_for_all(Import& m, bool symmetric) {
  Compose c(m);
  const Codes codes = read_codes(c, "dtype");
  const double eps = c.take(m.f("eps", 1.1920928955078125e-07));
  const double lo = static_cast<double>(codes.qmin), hi = static_cast<double>(codes.qmax);
  const Range r = range_of(c, c.cast(c.take(m.tensor("input")), DType::f32), false);
  auto f32 = [&](double v) { return c.number(v, DType::f32); };
  Value* span = symmetric ? c("Max", {c("Neg", {r.lo}), r.hi}) : c("Sub", {r.hi, r.lo});
  Value* scale = c("Div", {span, f32(symmetric ? (hi - lo) / 2 : hi - lo)});
  scale = c("Max", {scale, f32(eps)});
  Value* zero = nullptr;
  if (symmetric) {
    zero = c.number(codes.dtype == DType::u8 ? 128 : 0, DType::i64);
  } else {
    zero = c("Sub", {f32(lo), c("Round", {c("Div", {r.lo, scale})})});
    zero = c.cast(c.clamp(zero, lo, hi), DType::i64);
  }
  return c.done({c.reshape(c.cast(scale, DType::f64), {Dim(1)}), c.reshape(zero, {Dim(1)})});
}
Result<Values> choose_qparams(Import& m) { return choose_for_all(m, false); }
Result<Values> choose_qparams_symmetric(Import& m) { return choose_for_all(m, true); }

/// Symmetric codes for every row.
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

constexpr ImportRow kChoosingRows[] = {
    {"quantized_decomposed", "choose_qparams.tensor", choose_qparams},
    {"quantized_decomposed", "choose_qparams_symmetric.tensor", choose_qparams_symmetric},
    {"quantized_decomposed", "choose_qparams_per_token.default", choose_qparams_per_token},
    {"quantized_decomposed", "choose_qparams_per_token_asymmetric.default",
     choose_qparams_per_token_asymmetric},
    {"quantized_decomposed", "_choose_qparams_per_token_asymmetric_impl.default",
     choose_qparams_per_token_asymmetric},
};

}  // namespace

std::span<const ImportRow> choosing_rows() { return kChoosingRows; }

}  // namespace qc::torch_codes
