#include "ops/conv/qconv.h"

#include "interp/eval.h"
#include "kernels/qconv/calls.h"
#include "ops/common/codes.h"
#include "ops/common/vector.h"
#include "ops/common/weighted.h"
#include "ops/conv/operands.h"
#include "ops/conv/reference.h"
#include "ops/conv/weight_only.h"

namespace qc {

const OpInfo QConv::kInfo = {
    .name = "qconv",
    .min_inputs = 2,
    .max_inputs = 5,
    .traits = kAnyLayout | kWantsChannelsLast,
    .summary = "convolution of codes (or floats) with codes of weights, sums of codes exact",
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
    QC_TRY(check_sums(*this, to, record(), false, input_type(1).shape[0].value()));
    QC_TRY(check_weight_axis(*this, 0));
  }
  if (!input(1)->is_constant()) return error(Code::unsupported, loc(), "weights are not constant");
  return result(std::move(shape), input_type(0).layout);
}

int64_t QConv::macs() const { return conv_macs(output()->shape(), input_type(1).shape); }

AccumulatorProof QConv::accumulator() const {
  if (is_weight_only()) return {};
  const int64_t oc = input_type(1).shape[0].value();
  const int64_t row = product(input_type(1).shape).value() / std::max<int64_t>(oc, 1);
  return prove_sums(input_type(0), input(1), input(2), row, oc,
                    [row](int64_t i) { return i / row; });
}

namespace {

qk_qconv_params qconv_params(const QConv& c) {
  qk_qconv_params p{};
  fill_sizes(p, c, c.input_type(0).shape, c.input_type(1).shape, c.output()->shape());
  return p;
}

/// Codes less their zero points; those of axis 0 where there are several.
std::vector<int32_t> differences(const Tensor& t, const Format& f, std::optional<int32_t> zero) {
  std::vector<int32_t> out(static_cast<size_t>(t.size()));
  const int64_t count = f.granularity == Granularity::axis ? f.scale.values.size() : 1;
  const int64_t row = std::max<int64_t>(t.size() / std::max<int64_t>(count, 1), 1);
  for (int64_t i = 0; i < t.size(); ++i) {
    out[static_cast<size_t>(i)] =
        static_cast<int32_t>(t.as_int(i)) - (zero ? *zero : f.zero_at(i / row));
  }
  return out;
}

/// Weights [oc, icg, taps] of one group as [ocg/16 rounded up][taps][icg][16].
std::vector<int32_t> code_panels(const std::vector<int32_t>& w, int64_t ocg, int64_t icg,
                                 int64_t taps, int64_t group) {
  std::vector<int32_t> out(static_cast<size_t>((ocg + 15) / 16 * taps * icg * 16), 0);
  for (int64_t o = 0; o < ocg; ++o) {
    for (int64_t i = 0; i < icg; ++i) {
      for (int64_t t = 0; t < taps; ++t) {
        out[static_cast<size_t>(((o / 16 * taps + t) * icg + i) * 16 + o % 16)] =
            w[static_cast<size_t>(((group * ocg + o) * icg + i) * taps + t)];
      }
    }
  }
  return out;
}

}  // namespace

Result<Ok> QConv::eval(EvalContext& c) const {
  if (is_weight_only()) {
    eval_conv(*this, c.in(0), decoded_weights(c.in(1), input_type(1)),
              c.has(2) ? &c.in(2) : nullptr, c.out(0));
    return Ok{};
  }
  const qk_qconv_params p = qconv_params(*this);
  SumOutput output(*in_q(0), *in_q(1), p.oc, to, record(), lo, hi);
  const bool coded = c.has(2) && c.in(2).dtype() != DType::f32;
  if (c.has(2) && !coded) output.add_bias(c.in(2));
  const float x_scale = c.has(3) ? c.in(3).data<float>()[0] : 1.0f;
  std::optional<int32_t> zero;
  if (c.has(3)) zero = c.has(4) ? c.in(4).data<int32_t>()[0] : 0;
  const std::vector<int32_t> xs = differences(c.in(0), *in_q(0), zero);
  const std::vector<int32_t> ws = differences(c.in(1), *in_q(1), std::nullopt);
  const int64_t icg = p.ic / p.groups, ocg = p.oc / p.groups;
  const int64_t taps = int64_t{p.k[0]} * p.k[1] * p.k[2];
  const int64_t volume = int64_t{p.in[0]} * p.in[1] * p.in[2];
  const int64_t result = int64_t{p.out[0]} * p.out[1] * p.out[2];
  for (int64_t g = 0; g < p.groups; ++g) {
    const std::vector<int32_t> panels = code_panels(ws, ocg, icg, taps, g);
    for (int64_t row = 0; row < p.n * result; ++row) {
      const int64_t n = row / result, o = row % result;
      const int32_t od = static_cast<int32_t>(o / (int64_t{p.out[1]} * p.out[2]));
      const int32_t oh = static_cast<int32_t>(o / p.out[2] % p.out[1]);
      const int32_t ow = static_cast<int32_t>(o % p.out[2]);
      const int32_t* xn = xs.data() + (n * p.ic + g * icg) * volume;
      for (int64_t block = 0; block < ocg; block += 16) {
        const int32_t* wb = panels.data() + block * taps * icg;
        int64_t acc[16] = {0};
        for_each_tap(p, od, oh, ow, [&](int64_t tap, int64_t place) {
          const int32_t* xk = xn + place;
          const int32_t* wk = wb + tap * icg * 16;
          run_vectorised([&]() QC_VECTOR_BODY {
            int64_t lane[16];
            for (int j = 0; j < 16; ++j) lane[j] = acc[j];
            for (int64_t ic = 0; ic < icg; ++ic) {
              const int64_t xv = xk[ic * volume];
              for (int j = 0; j < 16; ++j) lane[j] += xv * wk[ic * 16 + j];
            }
            for (int j = 0; j < 16; ++j) acc[j] = lane[j];
          });
        });
        for (int64_t j = 0; j < std::min<int64_t>(16, ocg - block); ++j) {
          const int64_t oc = g * ocg + block + j;
          const int64_t sum = acc[j] + (coded ? c.in(2).as_int(oc) : 0);
          output.put(c.out(0), (n * p.oc + oc) * result + o, sum, oc, x_scale);
        }
      }
    }
  }
  return Ok{};
}

Result<Ok> QConv::lower(Lowering& l) const {
  if (is_weight_only()) return lower_weight_only(l, *this);
  kernel::Qconv p(qconv_params(*this));
  const Type &x = l.in_type(0), &w = l.in_type(1);
  SumOutput output(*x.format, *w.format, p.oc, to, record(), lo, hi);
  if (l.has(2) && l.in_type(2).dtype == DType::f32) {
    QC_ASSIGN(const Tensor bias, l.pool().get(*l.constant_in(2)));
    output.add_bias(bias);
  }
  const AccumulatorProof proof = accumulator();
  const StoredWeights stored(w, p.oc);
  const bool last = x.layout == Layout::channels_last;
  p.last = last ? 1 : 0;
  p.x_type = code_type(x.dtype);
  p.x_zero = x.format->is_carried() ? 0 : x.format->zero_at();
  const DType sums = bits(w.dtype) > 8 ? DType::i64 : proof.type;
  p.x_codes = stored_suffix(x.dtype);
  p.w_codes = bits(w.dtype) > 8 ? "i16" : "i8";
  p.accumulator = name(sums);
  p.x = l.in(0);
  p.w = stored.plain(
      l, [row = product(w.shape).value() / std::max(p.oc, 1)](int64_t i) { return i / row; });
  p.bias = sum_bias(l, 2, sums);
  p.epilogue = {output.stage(l)};
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
