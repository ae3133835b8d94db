#include "ops/clamp/clamp.h"

#include "interp/eval.h"
#include "kernels/clamp/calls.h"
#include "kernels/numerics/base.h"
#include "kernels/numerics/half.h"
#include "ops/activation/activation.h"
#include "ops/common/codes.h"
#include "ops/common/dispatch.h"
#include "ops/common/registration.h"
#include "program/lowering.h"

namespace qc {

const OpInfo Clamp::kInfo = {
    .name = "clamp",
    .traits = kElementwise | kAnyLayout,
    .summary = "limits every element to [lo, hi]; relu, relu6, hardtanh and clip are clamps",
};

Result<std::vector<Type>> Clamp::infer() const {
  const Type& x = input_type(0);
  if (x.dtype == DType::boolean) return error(Code::type, loc(), "clamp of bool values");
  if (!(lo <= hi)) return error(Code::attribute, loc(), "lower limit {} is above {}", lo, hi);
  return std::vector<Type>{x};
}

bool Clamp::absorb_clamp(Limits after) {
  const Limits both = narrow({lo, hi}, after);
  lo = both.lo;
  hi = both.hi;
  return true;
}

Result<Value*> Clamp::quantized(Quantizer& q) const {
  if (!q.codes(0) || !has_one_scale(q.codes(0)->type().quant()) || !q.result() ||
      !has_one_scale(*q.result())) {
    return q.refuse("not between codes with one static scale each");
  }
  if (bits(q.codes(0)->dtype()) <= 8) return q.refuse("codes of 8 bits take a table");
  const QType& to = *q.result();
  Value* x = q.codes(0);
  if (!(x->type().quant() == to)) {
    QC_ASSIGN(x, q.emit("requantize", {x}, {{"to", to}, {"arithmetic", str(q.arithmetic())}}));
  }
  return q.emit(kInfo.name, {x},
                {{"lo", static_cast<double>(limit_code(lo, to, q.arithmetic()))},
                 {"hi", static_cast<double>(limit_code(hi, to, q.arithmetic()))}});
}

Result<Node*> Clamp::with_epilogue(const QuantizeEpilogue& epilogue, const InsertPoint& point,
                                   std::string& reason) {
  return ActivationQuantize::fused(*this, epilogue, point, reason);
}

Result<Ok> Clamp::eval(EvalContext& c) const {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  return for_arithmetic_type(x.dtype(), loc(), [&](auto type) {
    using T = decltype(type);
    const auto lower = T::limit(lo), upper = T::limit(hi);
    for (int64_t i = 0; i < x.size(); ++i) {
      auto v = T::load(x, i);
      if (v < lower) v = lower;
      if (v > upper) v = upper;
      T::store(y, i, v);
    }
  });
}

namespace {

/// Whether a limit is the same number as a float, or rounded to one by the element type anyway.
bool fits_float(double limit, DType dtype) {
  return dtype == DType::f32 || bits(dtype) <= 16 ||
         static_cast<double>(static_cast<float>(limit)) == limit;
}

}  // namespace

Result<Ok> Clamp::lower(Lowering& l) const {
  const DType dtype = l.in_type(0).dtype;
  QC_ASSIGN(const std::string type, arithmetic_suffix(dtype, loc()));
  const Dim n = product(l.in_dims(0));
  if (!fits_float(lo, dtype) || !fits_float(hi, dtype)) {
    Tensor limits(dtype, {2});
    limits.set_double(0, lo);
    limits.set_double(1, hi);
    kernel::ClampTo c;
    c.n = n;
    c.type = type;
    c.x = l.in(0);
    c.limits = l.constant(std::move(limits), "limits");
    c.y = l.out();
    l.emit(c, {.in_place = {{0, 0}}});
    return Ok{};
  }
  kernel::Clamp c;
  c.n = n;
  c.lo = static_cast<float>(lo);
  c.hi = static_cast<float>(hi);
  c.type = type;
  c.x = l.in(0);
  c.y = l.out();
  l.emit(c, {.in_place = {{0, 0}}});
  return Ok{};
}

}  // namespace qc
