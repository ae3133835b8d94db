#include "ops/conv/qconv.h"

#include "interp/eval.h"
#include "kernels/qconv/calls.h"
#include "ops/common/codes.h"
#include "ops/common/weighted.h"
#include "ops/conv/code_conv.h"
#include "ops/conv/operands.h"
#include "ops/conv/weight_only.h"

namespace qc {

const OpInfo QConv::kInfo = {
    .name = "qconv",
    .min_inputs = 2,
    .max_inputs = 5,
    .traits = kAnyLayout | kWantsChannelsLast,
    .summary = "convolution of codes (or floats) with codes of weights, exact accumulators",
};

void QConv::attrs(AttrVisitor& v) {
  visit(v);
  WeightedQuantNode::attrs(v);
}

Result<std::vector<Type>> QConv::infer() const {
  if (is_weight_only()) {
    QC_TRY(check_quantized({1}));
  } else {
    QC_TRY(check_quantized({0, 1}, true));
  }
  QC_TRY(check_shapes(*this, groups));
  QC_ASSIGN(Dims shape, conv_shape(*this, groups, strides, dilations, pads));
  if (is_weight_only()) {
    QC_TRY(check_weight_only(*this, to, 0, input_type(1).shape[0]));
  } else {
    QC_TRY(
        check_accumulators(*this, to, parsed_arithmetic(), false, input_type(1).shape[0].value()));
    QC_TRY(check_weight_axis(*this, 0));
  }
  if (!input(1)->is_constant()) return error(Code::unsupported, loc(), "weights are not constant");
  return result(std::move(shape), input_type(0).layout);
}

int64_t QConv::macs() const { return conv_macs(*this, output()->shape()); }

AccumulatorProof QConv::accumulator() const {
  if (is_weight_only()) return {};
  const int64_t oc = input_type(1).shape[0].value();
  const int64_t row = product(input_type(1).shape).value() / std::max<int64_t>(oc, 1);
  return prove_accumulators(input_type(0), input(1), input(2), row, oc,
                            [row](int64_t i) { return i / row; });
}

CodeConv::CodeConv(const QConv& node, EvalContext& c)
    : ConvSizes(node, node.input_type(0).shape, node.input_type(1).shape, node.output()->shape()),
      x_zero(!c.has(3)  ? node.in_q(0)->zero_at()
             : c.has(4) ? c.in(4).data<int32_t>()[0]
                        : 0),
      w_(*node.in_q(1)),
      output_(*node.in_q(0), w_, oc, node.to, node.parsed_arithmetic(), node.lo, node.hi),
      bias_(c.has(2) && c.in(2).dtype() != DType::f32 ? &c.in(2) : nullptr),
      x_scale_(c.has(3) ? c.in(3).data<float>()[0] : 1.0f) {
  if (c.has(2) && !bias_) output_.add_bias(c.in(2));
}

void CodeConv::put(Tensor& y, int64_t at, int64_t sum) const {
  const int64_t channel = at / out_volume() % oc;
  output_.put(y, at, sum + (bias_ ? bias_->as_int(channel) : 0), channel, x_scale_);
}

Result<Ok> QConv::eval(EvalContext& c) const {
  if (is_weight_only()) {
    eval_conv(c.dot(), *this, c.in(0), decoded_weights(c.in(1), input_type(1)),
              c.has(2) ? &c.in(2) : nullptr, c.out(0));
    return Ok{};
  }
  const CodeConv p(*this, c);
  const int64_t icg = p.in_group(), ocg = p.out_group();
  for (int64_t at = 0; at < c.out(0).size(); ++at) {
    const int64_t position = at % p.out_volume(), oc = at / p.out_volume() % p.oc;
    const int64_t n = at / p.out_volume() / p.oc;
    int64_t sum = 0;
    for (const Tap& tap : taps_at(p, position)) {
      for (int64_t i = 0; i < icg; ++i) {
        const int64_t ic = oc / ocg * icg + i;
        const int64_t xv = c.in(0).as_int((n * p.ic + ic) * p.in_volume() + tap.position);
        const int64_t wv = c.in(1).as_int((oc * icg + i) * p.taps() + tap.number);
        sum += (xv - p.x_zero) * (wv - p.w_zero(oc));
      }
    }
    p.put(c.out(0), at, sum);
  }
  return Ok{};
}

Result<Ok> QConv::lower(Lowering& l) const {
  if (is_weight_only()) return lower_weight_only(l, *this);
  kernel::Qconv p;
  fill_sizes(p, *this, input_type(0).shape, input_type(1).shape, output()->shape());
  const Type &x = l.in_type(0), &w = l.in_type(1);
  const int64_t channels = p.oc.value();
  AccumulatorOutput output(*x.format, *w.format, channels, to, parsed_arithmetic(), lo, hi);
  if (l.has(2) && l.in_type(2).dtype == DType::f32) {
    QC_ASSIGN(const Tensor bias, l.pool().get(*l.constant_in(2)));
    output.add_bias(bias);
  }
  const AccumulatorProof proof = accumulator();
  const StoredWeights stored(w, channels);
  const bool nhwc = x.layout == Layout::channels_last;
  p.nhwc = nhwc ? 1 : 0;
  p.x_type = code_type(x.dtype);
  p.x_zero = x.format->is_dynamic() ? 0 : x.format->zero_at();
  const DType accumulators = bits(w.dtype) > 8 ? DType::i64 : proof.type;
  p.x_codes = stored_suffix(x.dtype);
  p.w_codes = bits(w.dtype) > 8 ? "i16" : "i8";
  p.accumulator = name(accumulators);
  p.x = l.in(0);
  p.w = stored.plain(l, [row = product(w.shape).value() /
                               std::max<int64_t>(channels, 1)](int64_t i) { return i / row; });
  p.bias = accumulator_bias(l, 2, accumulators);
  p.stages = {output.stage(l)};
  p.w_zeros = stored.zero_points(l);
  p.x_scales = l.optional(3);
  p.x_zeros = l.optional(4);
  p.y = l.out();
  CallInfo info{.in_place = {}, .macs = macs()};
  if (fits_16_bits(x)) info.facts.push_back("narrow_x");
  l.emit(p, std::move(info));
  return Ok{};
}

}  // namespace qc
