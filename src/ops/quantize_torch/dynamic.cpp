// Layers whose activations become codes when they run, as PyTorch's kernels compute them: scale and
// zero point of the whole operand, sums of codes, and floats again.
#include "frontends/common/known.h"
#include "ops/common/importing.h"
#include "ops/quantize_onnx/codec.h"
#include "ops/quantize_torch/codes.h"

namespace qc::torch_codes {
namespace {

using onnx_codes::as_codes;

struct Chosen {
  Value *scale = nullptr, *zero = nullptr;  // f32 and i64
};

/// As PyTorch's ChooseQuantizationParams: in f64, with a least scale to which the range is
/// stretched, and the zero point from the end of the range that loses less.
Chosen choose(Compose& c, Value* x, double qmax) {
  constexpr double kLeast = 6.1e-5f;
  const auto f32 = [&](double v) { return c.number(v, DType::f32); };
  const auto f64 = [&](double v) { return c.number(v, DType::f64); };
  Value* lo = c("Min", {c("ReduceMin", {x}, {{"keepdims", int64_t{0}}}), f32(0)});
  Value* hi = c("Max", {c("ReduceMax", {x}, {{"keepdims", int64_t{0}}}), f32(0)});
  Value* span = c("Sub", {c.cast(hi, DType::f64), c.cast(lo, DType::f64)});
  Value* scale = c("Div", {span, f64(qmax)});
  Value* narrow = c.cast(scale, DType::f32);
  // Where the scale has no finite inverse.
  Value* none = c("IsInf", {c("Div", {f32(1), narrow})});
  scale = c("Where", {none, f64(0.1), scale});
  Value* small = c("Less", {scale, f64(kLeast)});
  Value* factor = c("Div", {f32(kLeast), narrow});
  const double whole = static_cast<float>(kLeast) * static_cast<float>(qmax);
  Value* at_lo = c("Equal", {lo, f32(0)});
  Value* at_hi = c("Equal", {hi, f32(0)});
  Value* more = c("Where", {at_lo, f32(whole), c("Where", {at_hi, hi, c("Mul", {hi, factor})})});
  Value* less = c("Where", {at_lo, lo, c("Where", {at_hi, f32(-whole), c("Mul", {lo, factor})})});
  hi = c.cast(c("Where", {small, more, hi}), DType::f64);
  lo = c.cast(c("Where", {small, less, lo}), DType::f64);
  scale = c("Where", {small, f64(kLeast), scale});
  Value* lowest = c("Div", {lo, scale});
  Value* highest = c("Div", {hi, scale});
  Value* from_lo =
      c("Less", {c("Neg", {c("Abs", {lowest})}), c("Sub", {f64(qmax), c("Abs", {highest})})});
  Value* zero = c("Where", {from_lo, c("Sub", {f64(0), lowest}), c("Sub", {f64(qmax), highest})});
  zero = c("Round", {c.clamp(zero, 0, qmax)});
  return {c.cast(scale, DType::f32), c.cast(zero, DType::i64)};
}

/// The sums of codes x and weights [results, operands], less the weights' zero points: one for all,
/// or one for each row of them.
Value* accumulators(Compose& c, Value* x, Value* weight, Value* weight_zero) {
  const auto known = c.ok() ? known_tensor(c.import().graph(), weight_zero) : std::nullopt;
  if (!known) {
    c.fail(Code::unsupported, "zero points of weights that are not constant");
    return nullptr;
  }
  std::vector<int32_t> zeros;
  for (int64_t i = 0; i < known->size(); ++i)
    zeros.push_back(static_cast<int32_t>(known->as_int(i)));
  const std::vector<float> ones(zeros.size(), 1.0f);
  const auto codes = onnx_codes::known_format(DType::u8, x->shape(), 0, {1.0f}, {0});
  const auto columns = onnx_codes::known_format(DType::i8, weight->shape(), 0, ones, zeros);
  if (!codes || !columns) {
    c.fail(Code::unsupported, "weights of shape {}", str(weight->shape()));
    return nullptr;
  }
  return c.emit("qlinear", {as_codes(c, x, *codes), as_codes(c, weight, *columns)},
                {{"to", QType{DType::i32, nullptr}}});
}

/// `weight` are codes, [results, operands]; FBGEMM joins product and bias in one rounding
/// (`fused`), QNNPACK does not.
Result<Values> linear_dynamic(Import& m) {
  Compose c(m);
  Value* x = c.take(m.tensor("input"));
  Value* weight = c.take(m.tensor("weight"));
  Value* weight_scale = c.cast(c.take(m.tensor("weight_scale")), DType::f32);
  Value* weight_zero = c.take(m.tensor("weight_zero_point"));
  Value* bias = c.take(m.optional_tensor("bias"));
  const bool fused = c.take(m.b("fused", true));
  if (!c.ok()) return c.done({});
  if (x->dtype() != DType::f32 || weight->dtype() != DType::i8)
    return m.fail(Code::unsupported, "a dynamic layer of {} and weights of {}", name(x->dtype()),
                  name(weight->dtype()));
  if (weight->rank() != 2 ||
      (weight_zero->rank() > 0 &&
       (weight_zero->rank() != 1 || weight_zero->shape()[0] != weight->shape()[0])))
    return m.fail(Code::shape, "weights of shape {} with zero points of shape {}",
                  str(weight->shape()), str(weight_zero->shape()));
  const Chosen chosen = choose(c, x, c.take(m.b("reduce_range", true)) ? 127 : 255);
  Value* inverse = c("Div", {c.number(1, DType::f32), chosen.scale});
  Value* codes = c("Round", {c("Mul", {x, inverse})});
  codes = c.clamp(c("Add", {codes, c.cast(chosen.zero, DType::f32)}), 0, 255);
  Value* sum = accumulators(c, c.cast(codes, DType::u8), weight, weight_zero);
  // Less what the zero point adds: it is known in the run, the sum of the weights is known now.
  Value* zeros = weight_zero;
  if (zeros->rank() > 0) zeros = c.reshape(zeros, {weight->shape()[0], Dim(1)});
  Value* weights = c("Sub", {c.cast(weight, DType::i32), c.cast(zeros, DType::i32)});
  weights = c("ReduceSum", {weights, c.ints({1})}, {{"keepdims", int64_t{0}}});
  sum = c("Sub", {sum, c("Mul", {c.cast(chosen.zero, DType::i32), weights})});
  sum = c.cast(sum, DType::f32);
  Value* scale = c("Mul", {chosen.scale, weight_scale});
  if (!bias || !fused) {
    Value* out = c("Mul", {sum, scale});
    return c.done({bias ? c("Add", {out, bias}) : out});
  }
  // The product of two f32 is exact in f64.
  const auto wide = [&](Value* v) { return c.cast(v, DType::f64); };
  Value* out = c("Add", {c("Mul", {wide(sum), wide(scale)}), wide(bias)});
  return c.done({c.cast(out, DType::f32)});
}

constexpr ImportRow kDynamicRows[] = {{"quantized", "linear_dynamic.default", linear_dynamic}};

}  // namespace

std::span<const ImportRow> dynamic_rows() { return kDynamicRows; }

}  // namespace qc::torch_codes
