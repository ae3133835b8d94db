#include "ops/conv/order.h"

#include "kernels/conv/calls.h"
#include "kernels/numerics/base.h"
#include "ops/conv/operands.h"
#include "ops/conv/reference.h"
#include "program/lowering.h"

namespace qc {

Result<Ok> SumOrder::check(const Node& node) const {
  if (order != "taps" && order != "channels" && order != "quads") {
    return error(Code::attribute, node.loc(), "order '{}' is none of taps, channels, quads", order);
  }
  const bool has_blocks = order == "channels";
  if (has_blocks ? block < 1 || block > INT32_MAX : block != 0) {
    return error(Code::attribute, node.loc(), "order '{}' with block {}, expected {}", order, block,
                 has_blocks ? "1 or more" : "0");
  }
  if (!is_standard() && node.input_type(0).dtype != DType::f32) {
    return error(Code::type, node.loc(), "order '{}' of {} values, expected f32", order,
                 name(node.input_type(0).dtype));
  }
  return Ok{};
}

bool stays_float_in_onnxruntime(const Conv& conv, const Quantizer& q) {
  if (q.arithmetic().signed_codes != Arithmetic::Signed::f32) return false;
  if (!q.result() || !q.codes(0) || !q.codes(1) || (conv.input(2) && !q.codes(2))) return false;
  const DType x = q.codes(0)->dtype(), y = q.result()->dtype;
  if (bits(x) != 8 || bits(y) != 8) return false;
  const Format& to = *q.result()->format;
  const bool clamps = to.granularity == Granularity::tensor &&
                      (Quantizer::code_of(conv.lo, *q.result()) > to.qmin ||
                       Quantizer::code_of(conv.hi, *q.result()) < to.qmax);
  return x != DType::u8 || y != DType::u8 || clamps;
}

SumOrder onnxruntime_order(const Conv& conv) {
  const Dims &w = conv.input_type(1).shape, &y = conv.output()->shape();
  int64_t terms = 1, positions = 1;
  for (size_t i = 1; i < w.size(); ++i) terms *= w[i].value();
  for (size_t i = 2; i < y.size(); ++i) {
    if (!y[i].is_static()) return {};
    positions *= y[i].value();
  }
  // Its matrix product [outputs, terms] x [terms, positions] has kernels of their own for one row
  // and for one column; else it cuts terms so that a panel of 128 x 128 holds them, which grows
  // along the terms where positions are few.
  if (w[0].value() == conv.groups) return {.order = "quads"};
  if (positions == 1) return {};
  int64_t block = 128;
  for (int64_t width = 128; positions < terms && width > 16 && width / 2 >= positions; width /= 2) {
    block *= 2;
  }
  return {.order = "channels", .block = block};
}

namespace {

/// The chain that product k of `terms` is part of.
int64_t chain_of(const SumOrder& sum, int64_t k, int64_t terms) {
  if (sum.order == "channels") return k / sum.block;
  return k / 4 + (terms % 4 == 3 && k == terms - 1 ? 1 : 0);
}

}  // namespace

void eval_ordered(DotStep dot, const Conv& conv, const Tensor& x, const Tensor& w,
                  const Tensor* bias, Tensor& y) {
  const ConvSizes p(conv, conv.input_type(0).shape, conv.input_type(1).shape,
                    conv.output()->shape());
  const int64_t icg = p.in_group(), ocg = p.out_group();
  const int64_t window = p.taps(), terms = icg * window;
  const int64_t volume = p.in_volume(), result = p.out_volume();
  const bool rounded = conv.sum.order == "quads" || dot == DotStep::mul_add;
  for (int64_t o = 0; o < result; ++o) {
    const std::vector<Tap> taps = taps_at(p, o);
    for (int64_t row = 0; row < int64_t{p.n} * p.oc; ++row) {
      const int64_t n = row / p.oc, oc = row % p.oc;
      const float* xg = x.data<float>() + (n * p.ic + oc / ocg * icg) * volume;
      const float* wo = w.data<float>() + oc * terms;
      float sum = 0, chain = 0;
      int64_t current = 0;
      for (int64_t ic = 0; ic < icg; ++ic) {
        for (const Tap& tap : taps) {
          const int64_t k = ic * window + tap.number;
          if (const int64_t next = chain_of(conv.sum, k, terms); next != current) {
            sum += chain;
            chain = 0;
            current = next;
          }
          const float v = xg[ic * volume + tap.position];
          chain = rounded ? chain + qn_mulf(v, wo[k]) : qn_fmaf(v, wo[k], chain);
        }
      }
      sum += chain;
      if (bias) sum += bias->data<float>()[oc];
      y.mutable_data<float>()[row * result + o] =
          qn_clamp_f32(sum, static_cast<float>(conv.lo), static_cast<float>(conv.hi));
    }
  }
}

Result<Ok> lower_ordered(Lowering& l, const Conv& conv) {
  kernel::ConvOrdered p;
  fill_sizes(p, conv, conv.input_type(0).shape, conv.input_type(1).shape, conv.output()->shape());
  p.nhwc = l.in_type(0).layout == Layout::channels_last ? 1 : 0;
  p.quads = conv.sum.order == "quads" ? 1 : 0;
  p.block = static_cast<int32_t>(conv.sum.block);
  p.lo = static_cast<float>(conv.lo);
  p.hi = static_cast<float>(conv.hi);
  p.x = l.in(0);
  p.w = l.in(1);
  p.bias = l.optional(2);
  p.y = l.out();
  l.emit(p, {.in_place = {}, .macs = conv.macs()});
  return Ok{};
}

}  // namespace qc
