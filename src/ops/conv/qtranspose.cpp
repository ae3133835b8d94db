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
        "transposed convolution of codes (or floats) with codes of weights, exact accumulators",
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
    QC_TRY(check_accumulators(*this, to, parsed_arithmetic(), false, shape[1].value()));
    QC_TRY(check_weight_axis(*this, 1));
  }
  if (!input(1)->is_constant()) return error(Code::unsupported, loc(), "weights are not constant");
  return result(std::move(shape), Layout::row_major);
}

int64_t QConvTranspose::macs() const { return conv_macs(*this, input_type(0).shape); }

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

Result<Ok> lower_weight_only(Lowering& l, const QConvTranspose& node) {
  kernel::WconvTranspose c;
  fill_sizes(c, node, node.input_type(0).shape, node.input_type(1).shape, node.output()->shape());
  const Type& w = l.in_type(1);
  const int64_t count = w.format->scale.values.size(), channels = c.oc.value();
  std::vector<float> scales;
  for (int64_t i = 0; i < channels; ++i) scales.push_back(w.format->scale_at(i % count));
  const StoredWeights stored(w, channels);
  c.x = l.in(0);
  c.w = stored.plain(l, TransposedChannel(node));
  c.scales = l.constant(Tensor::of<float>(DType::f32, {channels}, scales), "scales");
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
  return prove_accumulators(input_type(0), input(1), input(2), channel.icg * channel.taps,
                            channel.ocg * groups, channel);
}

Result<Ok> QConvTranspose::eval(EvalContext& c) const {
  if (is_weight_only()) {
    eval_conv_transpose(c.dot(), *this, c.in(0), decoded_weights(c.in(1), input_type(1)),
                        c.has(2) ? &c.in(2) : nullptr, c.out(0));
    return Ok{};
  }
  const ConvSizes p(*this, input_type(0).shape, input_type(1).shape, output()->shape());
  AccumulatorOutput output(*in_q(0), *in_q(1), p.oc, to, parsed_arithmetic(), lo, hi);
  const bool coded = c.has(2) && c.in(2).dtype() != DType::f32;
  if (c.has(2) && !coded) output.add_bias(c.in(2));
  const float x_scale = c.has(3) ? c.in(3).data<float>()[0] : 1.0f;
  const int64_t zero = !c.has(3) ? in_q(0)->zero_at() : c.has(4) ? c.in(4).data<int32_t>()[0] : 0;
  const int64_t icg = p.in_group(), ocg = p.out_group();
  const int64_t w_count = in_q(1)->scale.values.size();
  for (int64_t at = 0; at < c.out(0).size(); ++at) {
    const int64_t position = at % p.out_volume(), oc = at / p.out_volume() % p.oc;
    const int64_t n = at / p.out_volume() / p.oc, g = oc / ocg;
    const int64_t w_zero = in_q(1)->zero_at(oc % w_count);
    int64_t sum = coded ? c.in(2).as_int(oc) : 0;
    for (int64_t tap = 0; tap < p.taps(); ++tap) {
      const int64_t from = read_by_transposed(p, position, tap);
      if (from < 0) continue;
      for (int64_t ic = g * icg; ic < (g + 1) * icg; ++ic) {
        const int64_t xv = c.in(0).as_int((n * p.ic + ic) * p.in_volume() + from);
        const int64_t wv = c.in(1).as_int((ic * ocg + oc % ocg) * p.taps() + tap);
        sum += (xv - zero) * (wv - w_zero);
      }
    }
    output.put(c.out(0), at, sum, oc, x_scale);
  }
  return Ok{};
}

Result<Ok> QConvTranspose::lower(Lowering& l) const {
  if (is_weight_only()) return lower_weight_only(l, *this);
  kernel::QconvTranspose p;
  fill_sizes(p, *this, input_type(0).shape, input_type(1).shape, output()->shape());
  const Type &x = l.in_type(0), &w = l.in_type(1);
  const int64_t channels = p.oc.value();
  AccumulatorOutput output(*x.format, *w.format, channels, to, parsed_arithmetic(), lo, hi);
  if (l.has(2) && l.in_type(2).dtype == DType::f32) {
    QC_ASSIGN(const Tensor bias, l.pool().get(*l.constant_in(2)));
    output.add_bias(bias);
  }
  p.x_zero = x.format->is_dynamic() ? 0 : x.format->zero_at();
  const StoredWeights stored(w, channels);
  p.x_codes = stored_suffix(x.dtype);
  p.w_codes = bits(w.dtype) > 8 ? "i16" : "i8";
  p.x = l.in(0);
  p.w = stored.plain(l, TransposedChannel(*this));
  p.bias = accumulator_bias(l, 2, DType::i64);
  p.stages = {output.stage(l)};
  p.w_zeros = stored.zero_points(l);
  p.x_scales = l.optional(3);
  p.x_zeros = l.optional(4);
  p.y = l.out();
  l.emit(p, {.in_place = {}, .macs = macs()});
  return Ok{};
}

}  // namespace qc
