#include "ops/conv/conv.h"

#include <array>

#include "interp/eval.h"
#include "kernels/conv/calls.h"
#include "ops/common/absorb.h"
#include "ops/common/dispatch.h"
#include "ops/common/registration.h"
#include "ops/common/vector.h"
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
}

namespace {

qk_conv_params conv_params(const ConvWindow& c, const Dims& x, const Dims& w, const Dims& y) {
  qk_conv_params p{};
  fill_sizes(p, c, x, w, y);
  p.lo = p.rlo = -QN_INF_F32;
  p.hi = p.rhi = QN_INF_F32;
  return p;
}
qk_conv_params conv_params(const Conv& c) {
  qk_conv_params p =
      conv_params(c, c.input_type(0).shape, c.input_type(1).shape, c.output()->shape());
  p.lo = static_cast<float>(c.lo);
  p.hi = static_cast<float>(c.hi);
  return p;
}

}  // namespace

Result<std::vector<Type>> Conv::infer() const {
  QC_TRY(check_operands(*this, groups, lo, hi));
  Type y = input_type(0);
  QC_ASSIGN(y.shape, conv_shape(*this, groups, strides, dilations, pads));
  QC_TRY(check_bias(*this, input_type(1).shape[0].value()));
  QC_TRY(sum.check(*this));
  return std::vector<Type>{y};
}

int64_t Conv::macs() const { return conv_macs(output()->shape(), input_type(1).shape); }

namespace {

/// Weights [oc, icg, taps] as [oc/16 rounded up][taps][icg][16], so that sixteen outputs of one
/// position are computed at once.
template <class T, class E>
std::vector<E> panels_of(const Tensor& w, int64_t ocg, int64_t icg, int64_t taps, int64_t group) {
  std::vector<E> out(static_cast<size_t>((ocg + 15) / 16 * taps * icg * 16), E(0));
  for (int64_t o = 0; o < ocg; ++o) {
    for (int64_t i = 0; i < icg; ++i) {
      for (int64_t t = 0; t < taps; ++t) {
        out[static_cast<size_t>(((o / 16 * taps + t) * icg + i) * 16 + o % 16)] =
            T::load(w, ((group * ocg + o) * icg + i) * taps + t);
      }
    }
  }
  return out;
}

template <class T>
void eval_conv(const qk_conv_params& p, double lo, double hi, const Tensor& x, const Tensor& w,
               const Tensor* bias, Tensor& y) {
  using E = typename T::Element;
  const int64_t icg = p.ic / p.groups, ocg = p.oc / p.groups;
  const int64_t taps = int64_t{p.k[0]} * p.k[1] * p.k[2];
  const int64_t volume = int64_t{p.in[0]} * p.in[1] * p.in[2];
  const int64_t result = int64_t{p.out[0]} * p.out[1] * p.out[2];
  std::vector<E> xs(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) xs[static_cast<size_t>(i)] = T::load(x, i);
  for (int64_t g = 0; g < p.groups; ++g) {
    const std::vector<E> panels = panels_of<T, E>(w, ocg, icg, taps, g);
    for (int64_t row = 0; row < p.n * result; ++row) {
      const int64_t n = row / result, o = row % result;
      const int32_t od = static_cast<int32_t>(o / (int64_t{p.out[1]} * p.out[2]));
      const int32_t oh = static_cast<int32_t>(o / p.out[2] % p.out[1]);
      const int32_t ow = static_cast<int32_t>(o % p.out[2]);
      const auto [d0, d1] = taps_inside(p, 0, od);
      const auto [h0, h1] = taps_inside(p, 1, oh);
      const auto [w0, w1] = taps_inside(p, 2, ow);
      const E* xn = xs.data() + (n * p.ic + g * icg) * volume;
      for (int64_t block = 0; block < ocg; block += 16) {
        const E* wb = panels.data() + block * taps * icg;
        const int64_t lanes = std::min<int64_t>(16, ocg - block);
        E acc[16];
        for (int64_t j = 0; j < 16; ++j) {
          acc[j] = bias && j < lanes ? T::load(*bias, g * ocg + block + j) : E(0);
        }
        run_vectorised([&, d0 = d0, d1 = d1, h0 = h0, h1 = h1, w0 = w0, w1 = w1]() QC_VECTOR_BODY {
          E lane[16];
          for (int j = 0; j < 16; ++j) lane[j] = acc[j];
          for (int32_t kd = d0; kd < d1; ++kd) {
            for (int32_t kh = h0; kh < h1; ++kh) {
              for (int32_t kw = w0; kw < w1; ++kw) {
                const int64_t id = int64_t{od} * p.stride[0] - p.pad[0] + kd * p.dilation[0];
                const int64_t ih = int64_t{oh} * p.stride[1] - p.pad[1] + kh * p.dilation[1];
                const int64_t iw = int64_t{ow} * p.stride[2] - p.pad[2] + kw * p.dilation[2];
                const E* xk = xn + (id * p.in[1] + ih) * p.in[2] + iw;
                const E* wk = wb + ((int64_t{kd} * p.k[1] + kh) * p.k[2] + kw) * icg * 16;
                for (int64_t ic = 0; ic < icg; ++ic, xk += volume, wk += 16) {
                  const E xv = *xk;
                  for (int j = 0; j < 16; ++j) {
                    if constexpr (sizeof(E) == 8) {
                      lane[j] = qn_fma(xv, wk[j], lane[j]);
                    } else {
                      lane[j] = qn_fmaf(xv, wk[j], lane[j]);
                    }
                  }
                }
              }
            }
          }
          for (int j = 0; j < 16; ++j) acc[j] = lane[j];
        });
        const E lower = T::limit(lo), upper = T::limit(hi);
        for (int64_t j = 0; j < lanes; ++j) {
          E v = acc[j] < lower ? lower : acc[j];
          if (v > upper) v = upper;
          T::store(y, (n * p.oc + g * ocg + block + j) * result + o, v);
        }
      }
    }
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

void eval_conv(const ConvWindow& window, const Tensor& x, const Tensor& w, const Tensor* bias,
               Tensor& y) {
  const qk_conv_params p =
      conv_params(window, to_dims(x.shape()), to_dims(w.shape()), to_dims(y.shape()));
  eval_conv<Native<float>>(p, -kInf, kInf, x, w, bias, y);
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
    return weight_only_form(q, "qconv", q.codes(1), window, lo, hi);
  }
  if (q.codes(0) && q.format(0).granularity != Granularity::tensor) {
    return q.refuse("a window needs one scale of its operand");
  }
  QC_ASSIGN(auto form, sum_form(q, 0, input_type(1).shape[0], lo, hi));
  if (!form) return static_cast<Value*>(nullptr);
  form->attrs.insert(window.begin(), window.end());
  return emit_form(q, "qconv", std::move(*form), lo, hi);
}

Result<Ok> Conv::eval(EvalContext& c) const {
  if (!sum.is_standard()) {
    eval_ordered(*this, c.in(0), c.in(1), c.has(2) ? &c.in(2) : nullptr, c.out(0));
    return Ok{};
  }
  const qk_conv_params p = conv_params(*this);
  return for_arithmetic_type(c.in(0).dtype(), loc(), [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::numeric_limits<typename T::Element>::is_integer) {
      eval_conv<T>(p, lo, hi, c.in(0), c.in(1), c.has(2) ? &c.in(2) : nullptr, c.out(0));
    }
  });
}

Result<Ok> Conv::lower(Lowering& l) const {
  if (!sum.is_standard()) return lower_ordered(l, *this);
  kernel::Conv c(conv_params(*this));
  const DType dtype = l.in_type(0).dtype;
  const bool last = l.in_type(0).layout == Layout::channels_last;
  c.type = name(dtype);
  c.path = "rows";
  c.x = l.in(0);
  c.w = l.in(1);
  c.bias = l.optional(2);
  c.y = l.out();
  if (last && dtype == DType::f32) {
    kernel::ConvPack pack;
    pack.groups = c.groups;
    pack.ocg = c.oc / c.groups;
    pack.icg = c.ic / c.groups;
    pack.taps = c.k[0] * c.k[1] * c.k[2];
    pack.path = c.path = c.groups == c.ic && c.groups == c.oc ? "depth" : "last";
    const Ints shape = c.path == "depth"
                           ? Ints{pack.taps, c.oc}
                           : Ints{c.groups, (pack.ocg + 15) / 16, pack.taps, pack.icg, 16};
    c.w = l.packed(1, pack, fmt::format("{}.{}", c.path, c.groups), DType::f32, shape);
  } else {
    c.last = last ? 1 : 0;
  }
  l.emit(c, {.in_place = {}, .macs = macs()});
  return Ok{};
}

}  // namespace qc
