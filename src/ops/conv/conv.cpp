#include "ops/conv/conv.h"

#include <array>

#include "interp/eval.h"
#include "kernels/conv/calls.h"
#include "ops/common/absorb.h"
#include "ops/common/dispatch.h"
#include "ops/common/registration.h"
#include "ops/common/weighted.h"
#include "ops/conv/operands.h"
#include "ops/conv/order.h"
#include "ops/conv/reference.h"
#include "ops/conv/weight_only.h"
#include "program/lowering.h"

namespace qc {

const OpInfo Conv::kInfo = {
    .name = "conv",
    .min_inputs = 2,
    .max_inputs = 3,
    .traits = kAnyLayout | kWantsChannelsLast,
    .summary = "convolution over one to three spatial axes, with bias and a limit",
};

void Conv::attrs(AttrVisitor& v) {
  visit(v);
  v("lo", lo, -kInf);
  v("hi", hi, kInf);
  sum.visit(v);
  v("valid", valid, Dims{});
}

Result<std::vector<Type>> Conv::infer() const {
  QC_TRY(check_operands(*this, groups, lo, hi));
  Type y = input_type(0);
  QC_ASSIGN(y.shape, conv_shape(*this, groups, strides, dilations, pads));
  QC_TRY(check_bias(*this, input_type(1).shape[0].value()));
  QC_TRY(sum.check(*this));
  if (!valid.empty() && (valid.size() + 2 != y.shape.size() || !sum.is_standard()))
    return error(Code::attribute, loc(), "valid is {} for {}", str(valid), str(y.shape));
  return std::vector<Type>{y};
}

int64_t Conv::macs() const { return conv_macs(*this, output()->shape()); }

namespace {

template <class T>
void eval_conv(DotStep step, const ConvSizes& p, double lo, double hi, const Tensor& x,
               const Tensor& w, const Tensor* bias, Tensor& y) {
  using E = typename T::Element;
  const int64_t icg = p.in_group(), ocg = p.out_group();
  const E lower = T::limit(lo), upper = T::limit(hi);
  for (int64_t at = 0; at < y.size(); ++at) {
    const int64_t position = at % p.out_volume(), oc = at / p.out_volume() % p.oc;
    const int64_t n = at / p.out_volume() / p.oc;
    E sum = bias ? T::load(*bias, oc) : E(0);
    for (const Tap& tap : taps_at(p, position)) {
      for (int64_t i = 0; i < icg; ++i) {
        const int64_t ic = oc / ocg * icg + i;
        const E xv = T::load(x, (n * p.ic + ic) * p.in_volume() + tap.position);
        const E wv = T::load(w, (oc * icg + i) * p.taps() + tap.number);
        with_dot(step, [&](auto dot) { sum = dot_step<dot()>(xv, wv, sum); });
      }
    }
    if (sum < lower) sum = lower;
    if (sum > upper) sum = upper;
    T::store(y, at, sum);
  }
}

}  // namespace

Result<bool> Conv::absorb_after(Graph& graph, Value* scale, Value* shift) {
  if (!has_constant_weights(*this) || lo != -kInf || hi != kInf) return false;
  Value* w = scale ? record_scaled(graph, input(1), 0, scale) : input(1);
  graph.set_inputs(this, {input(0), w, record_bias(graph, input(2), scale, shift)});
  return true;
}

Result<bool> Conv::absorb_before(Graph& graph, Value* scale, Value* shift) {
  if (!has_constant_weights(*this)) return false;
  for (int64_t pad : pads) {
    if (pad != 0 && shift) return false;  // padding is 0, not the shift
  }
  Value* bias = shift ? record_shifted_bias(graph, input(1), input(2), shift, groups) : input(2);
  Value* w = scale ? record_scaled(graph, input(1), 1, scale, groups) : input(1);
  if (bias) {
    graph.set_inputs(this, {input(0), w, bias});
  } else {
    graph.set_inputs(this, {input(0), w});
  }
  return true;
}

bool Conv::absorb_clamp(IsClamp::Limits limits) {
  return absorb_limits(input_type(0).dtype, limits, lo, hi);
}

void eval_conv(DotStep dot, const ConvWindow& window, const Tensor& x, const Tensor& w,
               const Tensor* bias, Tensor& y) {
  const ConvSizes p(window, to_dims(x.shape()), to_dims(w.shape()), to_dims(y.shape()));
  eval_conv<Native<float>>(dot, p, -kInf, kInf, x, w, bias, y);
}

bool Conv::prepare(const Quantizer& q) {
  if (!sum.is_standard() || !stays_float_in_onnxruntime(*this, q)) return false;
  sum = onnxruntime_order(*this);
  return !sum.is_standard();
}

Result<Value*> Conv::quantized(Quantizer& q) const {
  if (!sum.is_standard()) return q.refuse("it sums floats in an order of its own");
  const AttrMap window{
      {"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"groups", groups}};
  if (!q.codes(0) && q.codes(1) && q.codes(1)->is_constant()) {
    return weight_only_product(q, "qconv", q.codes(1), window, lo, hi);
  }
  if (q.codes(0) && q.format(0).granularity != Granularity::tensor) {
    return q.refuse("a window needs one scale of its operand");
  }
  QC_ASSIGN(auto product, weighted_product(q, 0, input_type(1).shape[0], lo, hi));
  if (!product) return static_cast<Value*>(nullptr);
  product->attrs.insert(window.begin(), window.end());
  return emit_product(q, "qconv", std::move(*product), lo, hi);
}

Result<Ok> Conv::eval(EvalContext& c) const {
  if (!sum.is_standard()) {
    eval_ordered(c.dot(), *this, c.in(0), c.in(1), c.has(2) ? &c.in(2) : nullptr, c.out(0));
    return Ok{};
  }
  ConvSizes p(*this, input_type(0).shape, input_type(1).shape, output()->shape());
  p.leave_out(valid);
  return for_arithmetic_type(c.in(0).dtype(), loc(), [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::numeric_limits<typename T::Element>::is_integer) {
      eval_conv<T>(c.dot(), p, lo, hi, c.in(0), c.in(1), c.has(2) ? &c.in(2) : nullptr, c.out(0));
    }
  });
}

Result<Ok> Conv::lower(Lowering& l) const {
  if (!sum.is_standard()) return lower_ordered(l, *this);
  kernel::Conv c;
  fill_sizes(c, *this, input_type(0).shape, input_type(1).shape, output()->shape());
  for (size_t i = 0; i < 3; ++i) {
    const bool given = i + valid.size() >= 3;
    c.valid[i] = given ? min(valid[i + valid.size() - 3], c.in[i]) : c.in[i];
  }
  c.lo = static_cast<float>(lo);
  c.hi = static_cast<float>(hi);
  c.add_f32.lo = -QN_INF_F32;
  c.add_f32.hi = QN_INF_F32;
  c.nhwc = l.in_type(0).layout == Layout::channels_last ? 1 : 0;
  c.type = name(l.in_type(0).dtype);
  c.x = l.in(0);
  c.bias = l.optional(2);
  c.w = l.in(1);
  c.y = l.out();
  l.emit(c, {.in_place = {}, .macs = macs()});
  return Ok{};
}

}  // namespace qc
