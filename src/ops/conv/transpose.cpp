#include "interp/eval.h"
#include "kernels/conv/calls.h"
#include "ops/common/absorb.h"
#include "ops/common/dispatch.h"
#include "ops/common/weighted.h"
#include "ops/conv/conv.h"
#include "ops/conv/operands.h"
#include "ops/conv/reference.h"
#include "ops/conv/weight_only.h"
#include "program/lowering.h"

namespace qc {

const OpInfo ConvTranspose::kInfo = {
    .name = "conv_transpose",
    .min_inputs = 2,
    .max_inputs = 3,
    .summary = "transposed convolution over one to three spatial axes, with bias and a limit",
};

void ConvTranspose::attrs(AttrVisitor& v) {
  visit(v, &output_padding);
  v("lo", lo, -kInf);
  v("hi", hi, kInf);
}

Result<std::vector<Type>> ConvTranspose::infer() const {
  QC_TRY(check_operands(*this, groups, lo, hi));
  Type y = input_type(0);
  QC_ASSIGN(y.shape, transposed_shape(*this, groups, strides, dilations, pads, output_padding));
  QC_TRY(check_bias(*this, y.shape[1].value()));
  return std::vector<Type>{y};
}

int64_t ConvTranspose::macs() const { return conv_macs(*this, input_type(0).shape); }

Result<bool> ConvTranspose::absorb_after(Graph& graph, Value* scale, Value* shift) {
  if (!has_constant_weights(*this) || lo != -kInf || hi != kInf) return false;
  Value* w = scale ? record_scaled(graph, input(1), 1, scale, groups) : input(1);
  graph.set_inputs(this, {input(0), w, record_bias(graph, input(2), scale, shift)});
  return true;
}

Result<bool> ConvTranspose::absorb_before(Graph& graph, Value* scale, Value* shift) {
  // How many elements of the operand an element of the result sums, and so a shift, varies.
  if (!has_constant_weights(*this) || shift) return false;
  if (scale) graph.set_input(this, 1, record_scaled(graph, input(1), 0, scale));
  return true;
}

bool ConvTranspose::absorb_clamp(IsClamp::Limits limits) {
  return absorb_limits(input_type(0).dtype, limits, lo, hi);
}

namespace {

template <class T>
void eval_transpose(DotStep step, const ConvSizes& p, double lo, double hi, const Tensor& x,
                    const Tensor& w, const Tensor* bias, Tensor& y) {
  using E = typename T::Element;
  const int64_t icg = p.in_group(), ocg = p.out_group();
  const E lower = T::limit(lo), upper = T::limit(hi);
  for (int64_t at = 0; at < y.size(); ++at) {
    const int64_t position = at % p.out_volume(), oc = at / p.out_volume() % p.oc;
    const int64_t n = at / p.out_volume() / p.oc, g = oc / ocg;
    E sum = bias ? T::load(*bias, oc) : E(0);
    for (int64_t tap = 0; tap < p.taps(); ++tap) {
      const int64_t from = read_by_transposed(p, position, tap);
      if (from < 0) continue;
      for (int64_t ic = g * icg; ic < (g + 1) * icg; ++ic) {
        const E xv = T::load(x, (n * p.ic + ic) * p.in_volume() + from);
        const E wv = T::load(w, (ic * ocg + oc % ocg) * p.taps() + tap);
        with_dot(step, [&](auto dot) { sum = dot_step<dot()>(xv, wv, sum); });
      }
    }
    if (sum < lower) sum = lower;
    if (sum > upper) sum = upper;
    T::store(y, at, sum);
  }
}

}  // namespace

void eval_conv_transpose(DotStep dot, const ConvWindow& window, const Tensor& x, const Tensor& w,
                         const Tensor* bias, Tensor& y) {
  const ConvSizes p(window, to_dims(x.shape()), to_dims(w.shape()), to_dims(y.shape()));
  eval_transpose<Native<float>>(dot, p, -kInf, kInf, x, w, bias, y);
}

Result<Value*> ConvTranspose::quantized(Quantizer& q) const {
  const AttrMap window{{"strides", strides},
                       {"dilations", dilations},
                       {"pads", pads},
                       {"output_padding", output_padding},
                       {"groups", groups}};
  if (!q.codes(0) && q.codes(1) && q.codes(1)->is_constant()) {
    return weight_only_product(q, "qconv_transpose", q.codes(1), window, lo, hi, 1);
  }
  if (q.codes(0) && q.format(0).granularity != Granularity::tensor) {
    return q.refuse("a window needs one scale of its operand");
  }
  QC_ASSIGN(auto product, weighted_product(q, 1, output()->shape()[1], lo, hi));
  if (!product) return static_cast<Value*>(nullptr);
  product->attrs.insert(window.begin(), window.end());
  return emit_product(q, "qconv_transpose", std::move(*product), lo, hi);
}

Result<Ok> ConvTranspose::eval(EvalContext& c) const {
  const ConvSizes p(*this, input_type(0).shape, input_type(1).shape, output()->shape());
  return for_arithmetic_type(c.in(0).dtype(), loc(), [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::numeric_limits<typename T::Element>::is_integer) {
      eval_transpose<T>(c.dot(), p, lo, hi, c.in(0), c.in(1), c.has(2) ? &c.in(2) : nullptr,
                        c.out(0));
    }
  });
}

Result<Ok> ConvTranspose::lower(Lowering& l) const {
  kernel::ConvTranspose c;
  fill_sizes(c, *this, input_type(0).shape, input_type(1).shape, output()->shape());
  c.lo = static_cast<float>(lo);
  c.hi = static_cast<float>(hi);
  c.type = name(l.in_type(0).dtype);
  c.x = l.in(0);
  c.w = l.in(1);
  c.bias = l.optional(2);
  c.y = l.out();
  l.emit(c, {.in_place = {}, .macs = macs()});
  return Ok{};
}

}  // namespace qc
