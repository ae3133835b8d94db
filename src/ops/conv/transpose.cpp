#include "interp/eval.h"
#include "kernels/conv/calls.h"
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

int64_t ConvTranspose::macs() const { return conv_macs(input_type(0).shape, input_type(1).shape); }

Result<bool> ConvTranspose::absorb_after(Graph& graph, Value* scale, Value* shift) {
  if (!has_constant_weights(*this) || lo != -kInf || hi != kInf) return false;
  Value* w = scale ? record_scaled(graph, input(1), 1, scale, groups) : input(1);
  graph.set_inputs(this, {input(0), w, record_bias(graph, input(2), scale, shift)});
  return true;
}

bool ConvTranspose::absorb_clamp(IsClamp::Limits limits) {
  return absorb_limits(input_type(0).dtype, limits, lo, hi);
}

namespace {

qk_conv_transpose_params transpose_params(const ConvWindow& c, const Dims& x, const Dims& w,
                                          const Dims& y, double lo, double hi) {
  qk_conv_transpose_params p{};
  fill_sizes(p, c, x, w, y);
  p.lo = static_cast<float>(lo);
  p.hi = static_cast<float>(hi);
  return p;
}
qk_conv_transpose_params transpose_params(const ConvTranspose& c) {
  return transpose_params(c, c.input_type(0).shape, c.input_type(1).shape, c.output()->shape(),
                          c.lo, c.hi);
}

template <class T>
void eval_transpose(const qk_conv_transpose_params& p, double lo, double hi, const Tensor& x,
                    const Tensor& w, const Tensor* bias, Tensor& y) {
  using E = typename T::Element;
  const int64_t icg = p.ic / p.groups, ocg = p.oc / p.groups;
  const int64_t taps = int64_t{p.k[0]} * p.k[1] * p.k[2];
  const int64_t volume = int64_t{p.in[0]} * p.in[1] * p.in[2];
  const E lower = T::limit(lo), upper = T::limit(hi);
  int64_t at = 0;
  for (int64_t n = 0; n < p.n; ++n) {
    for (int64_t oc = 0; oc < p.oc; ++oc) {
      const int64_t g = oc / ocg;
      for (int32_t od = 0; od < p.out[0]; ++od) {
        for (int32_t oh = 0; oh < p.out[1]; ++oh) {
          for (int32_t ow = 0; ow < p.out[2]; ++ow) {
            E acc = bias ? T::load(*bias, oc) : E(0);
            for (int32_t tap = 0; tap < taps; ++tap) {
              const int32_t id = source_of(p, 0, od, tap / (p.k[1] * p.k[2]));
              const int32_t ih = source_of(p, 1, oh, tap / p.k[2] % p.k[1]);
              const int32_t iw = source_of(p, 2, ow, tap % p.k[2]);
              if (id < 0 || ih < 0 || iw < 0) continue;
              const int64_t place = (int64_t{id} * p.in[1] + ih) * p.in[2] + iw;
              for (int64_t ic = g * icg; ic < (g + 1) * icg; ++ic) {
                const E xv = T::load(x, (n * p.ic + ic) * volume + place);
                const E wv = T::load(w, (ic * ocg + oc % ocg) * taps + tap);
                if constexpr (sizeof(E) == 8) {
                  acc = qn_fma(xv, wv, acc);
                } else {
                  acc = qn_fmaf(xv, wv, acc);
                }
              }
            }
            if (acc < lower) acc = lower;
            if (acc > upper) acc = upper;
            T::store(y, at++, acc);
          }
        }
      }
    }
  }
}

}  // namespace

void eval_conv_transpose(const ConvWindow& window, const Tensor& x, const Tensor& w,
                         const Tensor* bias, Tensor& y) {
  const qk_conv_transpose_params p = transpose_params(
      window, to_dims(x.shape()), to_dims(w.shape()), to_dims(y.shape()), -kInf, kInf);
  eval_transpose<Native<float>>(p, -kInf, kInf, x, w, bias, y);
}

Result<Value*> ConvTranspose::quantized(Quantizer& q) const {
  const AttrMap window{{"strides", strides},
                       {"dilations", dilations},
                       {"pads", pads},
                       {"output_padding", output_padding},
                       {"groups", groups}};
  if (!q.codes(0) && q.codes(1) && q.codes(1)->is_constant()) {
    return weight_only_form(q, "qconv_transpose", q.codes(1), window, lo, hi, 1);
  }
  if (q.codes(0) && q.format(0).granularity != Granularity::tensor) {
    return q.refuse("a window needs one scale of its operand");
  }
  QC_ASSIGN(auto form, sum_form(q, 1, output()->shape()[1], lo, hi));
  if (!form) return static_cast<Value*>(nullptr);
  form->attrs.insert(window.begin(), window.end());
  return emit_form(q, "qconv_transpose", std::move(*form), lo, hi);
}

Result<Ok> ConvTranspose::eval(EvalContext& c) const {
  const qk_conv_transpose_params p = transpose_params(*this);
  return for_arithmetic_type(c.in(0).dtype(), loc(), [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::numeric_limits<typename T::Element>::is_integer) {
      eval_transpose<T>(p, lo, hi, c.in(0), c.in(1), c.has(2) ? &c.in(2) : nullptr, c.out(0));
    }
  });
}

Result<Ok> ConvTranspose::lower(Lowering& l) const {
  kernel::ConvTranspose c(transpose_params(*this));
  c.type = name(l.in_type(0).dtype);
  c.x = l.in(0);
  c.w = l.in(1);
  c.bias = l.optional(2);
  c.y = l.out();
  l.emit(c, {.in_place = {}, .macs = macs()});
  return Ok{};
}

}  // namespace qc
