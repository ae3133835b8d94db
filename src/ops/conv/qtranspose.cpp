#include "interp/eval.h"
#include "kernels/qconv/calls.h"
#include "kernels/wconv/calls.h"
#include "ops/common/codes.h"
#include "ops/common/weighted.h"
#include "ops/conv/operands.h"
#include "ops/conv/qconv.h"
#include "ops/conv/reference.h"
#include "ops/conv/weight_only.h"

namespace qc {

const OpInfo QConvTranspose::kInfo = {
    .name = "qconv_transpose",
    .min_inputs = 2,
    .max_inputs = 5,
    .summary =
        "transposed convolution of codes (or floats) with codes of weights, sums of codes exact",
};

void QConvTranspose::attrs(AttrVisitor& v) {
  visit(v, &output_padding);
  WeightedQuantNode::attrs(v);
}

Result<std::vector<Type>> QConvTranspose::infer() const {
  if (is_weight_only()) {
    QC_TRY(check_quantized({1}));
  } else {
    QC_TRY(check_quantized({0, 1}, true));
  }
  QC_TRY(check_shapes(*this, groups));
  QC_ASSIGN(Dims shape, transposed_shape(*this, groups, strides, dilations, pads, output_padding));
  if (is_weight_only()) {
    QC_TRY(check_weight_only(*this, to, 1, shape[1]));
  } else {
    QC_TRY(check_sums(*this, to, record(), false, shape[1].value()));
    QC_TRY(check_weight_axis(*this, 1));
  }
  if (!input(1)->is_constant()) return error(Code::unsupported, loc(), "weights are not constant");
  return result(std::move(shape), Layout::row_major);
}

int64_t QConvTranspose::macs() const { return conv_macs(input_type(0).shape, input_type(1).shape); }

namespace {

/// The result's channel of an element of the weights.
struct TransposedChannel {
  int64_t icg, ocg, taps;
  explicit TransposedChannel(const QConvTranspose& n)
      : icg(n.input_type(1).shape[0].value() / n.groups), ocg(n.input_type(1).shape[1].value()) {
    taps = 1;
    for (int64_t k : spatial(n.input_type(1).shape)) taps *= k;
  }
  int64_t operator()(int64_t i) const {
    const int64_t ic = i / (ocg * taps);
    return ic / icg * ocg + i / taps % ocg;
  }
};

/// The parameters of a kernel: what all of them have.
template <class Params>
Params qtranspose_params(const QConvTranspose& c) {
  Params p{};
  fill_sizes(p, c, c.input_type(0).shape, c.input_type(1).shape, c.output()->shape());
  return p;
}

Result<Ok> lower_weight_only(Lowering& l, const QConvTranspose& node) {
  const auto p = qtranspose_params<qk_wconv_params>(node);
  const Type& w = l.in_type(1);
  const int64_t count = w.format->scale.values.size();
  std::vector<float> scales;
  for (int64_t c = 0; c < p.oc; ++c) scales.push_back(w.format->scale_at(c % count));
  const StoredWeights stored(w, p.oc);
  kernel::Wconv c(p);
  c.path = "transpose";
  c.x = l.in(0);
  c.w = stored.plain(l, TransposedChannel(node));
  c.scales = l.constant(Tensor::of<float>(DType::f32, {p.oc}, scales), "scales");
  c.w_zeros = stored.zero_points(l);
  c.bias = l.optional(2);
  c.y = l.out();
  l.emit(c, {.in_place = {}, .macs = node.macs()});
  return Ok{};
}

}  // namespace

AccumulatorProof QConvTranspose::accumulator() const {
  if (is_weight_only()) return {};
  const TransposedChannel channel(*this);
  return prove_sums(input_type(0), input(1), input(2), channel.icg * channel.taps,
                    channel.ocg * groups, channel);
}

Result<Ok> QConvTranspose::eval(EvalContext& c) const {
  if (is_weight_only()) {
    eval_conv_transpose(*this, c.in(0), decoded_weights(c.in(1), input_type(1)),
                        c.has(2) ? &c.in(2) : nullptr, c.out(0));
    return Ok{};
  }
  const auto p = qtranspose_params<qk_qconv_transpose_params>(*this);
  SumOutput output(*in_q(0), *in_q(1), p.oc, to, record(), lo, hi);
  const bool coded = c.has(2) && c.in(2).dtype() != DType::f32;
  if (c.has(2) && !coded) output.add_bias(c.in(2));
  const float x_scale = c.has(3) ? c.in(3).data<float>()[0] : 1.0f;
  const int64_t zero = !c.has(3) ? in_q(0)->zero_at() : c.has(4) ? c.in(4).data<int32_t>()[0] : 0;
  const TransposedChannel shape(*this);
  const int64_t volume = int64_t{p.in[0]} * p.in[1] * p.in[2];
  const int64_t w_count = in_q(1)->scale.values.size();
  int64_t at = 0;
  for (int64_t row = 0; row < int64_t{p.n} * p.oc; ++row) {
    const int64_t oc = row % p.oc, n = row / p.oc, g = oc / shape.ocg;
    const int64_t w_zero = in_q(1)->zero_at(oc % w_count);
    for (int32_t od = 0; od < p.out[0]; ++od) {
      for (int32_t oh = 0; oh < p.out[1]; ++oh) {
        for (int32_t ow = 0; ow < p.out[2]; ++ow) {
          int64_t sum = coded ? c.in(2).as_int(oc) : 0;
          for (int32_t tap = 0; tap < shape.taps; ++tap) {
            const int32_t id = source_of(p, 0, od, tap / (p.k[1] * p.k[2]));
            const int32_t ih = source_of(p, 1, oh, tap / p.k[2] % p.k[1]);
            const int32_t iw = source_of(p, 2, ow, tap % p.k[2]);
            if (id < 0 || ih < 0 || iw < 0) continue;
            const int64_t place = (int64_t{id} * p.in[1] + ih) * p.in[2] + iw;
            for (int64_t ic = g * shape.icg; ic < (g + 1) * shape.icg; ++ic) {
              const int64_t wv =
                  c.in(1).as_int((ic * shape.ocg + oc % shape.ocg) * shape.taps + tap);
              sum += (c.in(0).as_int((n * p.ic + ic) * volume + place) - zero) * (wv - w_zero);
            }
          }
          output.put(c.out(0), at++, sum, oc, x_scale);
        }
      }
    }
  }
  return Ok{};
}

Result<Ok> QConvTranspose::lower(Lowering& l) const {
  if (is_weight_only()) return lower_weight_only(l, *this);
  kernel::QconvTranspose p(qtranspose_params<qk_qconv_transpose_params>(*this));
  const Type &x = l.in_type(0), &w = l.in_type(1);
  SumOutput output(*x.format, *w.format, p.oc, to, record(), lo, hi);
  if (l.has(2) && l.in_type(2).dtype == DType::f32) {
    QC_ASSIGN(const Tensor bias, l.pool().get(*l.constant_in(2)));
    output.add_bias(bias);
  }
  p.x_zero = x.format->is_carried() ? 0 : x.format->zero_at();
  const StoredWeights stored(w, p.oc);
  p.x_codes = stored_suffix(x.dtype);
  p.w_codes = bits(w.dtype) > 8 ? "i16" : "i8";
  p.x = l.in(0);
  p.w = stored.plain(l, TransposedChannel(*this));
  p.bias = sum_bias(l, 2, DType::i64);
  p.epilogue = {output.stage(l)};
  p.w_zeros = stored.zero_points(l);
  p.x_scales = l.optional(3);
  p.x_zeros = l.optional(4);
  p.y = l.out();
  l.emit(p, {.in_place = {}, .macs = macs()});
  return Ok{};
}

}  // namespace qc
