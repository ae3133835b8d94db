// Convolutions by loops that are fast enough for whole networks: sixteen results of one position at
// a time. Every sum has the order that the plain evaluations give it.
#include "ops/common/dispatch.h"
#include "ops/common/vector.h"
#include "ops/conv/code_conv.h"
#include "ops/conv/order.h"
#include "ops/conv/weight_only.h"

namespace qc {
namespace {

constexpr int kLanes = 16;

int64_t blocks(int64_t channels) { return (channels + kLanes - 1) / kLanes; }

/// Weights of one group as [blocks of outputs][taps][inputs][16]; `of(channel, i)` is element i of
/// the weights [oc, inputs, taps].
template <class E, class F>
std::vector<E> blocked_weights(const ConvSizes& p, int64_t group, F&& of) {
  const int64_t icg = p.in_group(), ocg = p.out_group(), taps = p.taps();
  std::vector<E> out(static_cast<size_t>(blocks(ocg) * taps * icg * kLanes), E(0));
  for (int64_t o = 0; o < ocg; ++o) {
    for (int64_t i = 0; i < icg; ++i) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t row = (o / kLanes * taps + t) * icg + i, channel = group * ocg + o;
        out[static_cast<size_t>(row * kLanes + o % kLanes)] =
            of(channel, (channel * icg + i) * taps + t);
      }
    }
  }
  return out;
}

/// Sums of sixteen results on top of `accumulators`: `step(x, w, sum)` takes one product.
template <class E, class S, class Step>
void sum_block(const ConvSizes& p, const std::vector<Tap>& taps, const E* x, const E* w,
               S* accumulators, Step step) {
  const int64_t icg = p.in_group(), volume = p.in_volume();
  run_vectorised([&]() QC_VECTOR_BODY {
    S lane[kLanes];
    for (int j = 0; j < kLanes; ++j) lane[j] = accumulators[j];
    for (const Tap& tap : taps) {
      const E* xk = x + tap.position;
      const E* wk = w + tap.number * icg * kLanes;
      for (int64_t i = 0; i < icg; ++i, xk += volume, wk += kLanes) {
        const E xv = *xk;
        for (int j = 0; j < kLanes; ++j) lane[j] = step(xv, wk[j], lane[j]);
      }
    }
    for (int j = 0; j < kLanes; ++j) accumulators[j] = lane[j];
  });
}

/// Walks positions, groups and blocks: `weight(channel, i)` is a weight, `first(channel)` what its
/// accumulators start from, `put(at, sum)` takes a result.
template <class S, class E, class W, class First, class Step, class Put>
void walk(const ConvSizes& p, const std::vector<E>& x, W&& weight, First&& first, Step step,
          Put&& put) {
  const int64_t icg = p.in_group(), ocg = p.out_group(), result = p.out_volume();
  std::vector<std::vector<E>> weights;
  for (int64_t g = 0; g < p.groups; ++g) weights.push_back(blocked_weights<E>(p, g, weight));
  for (int64_t row = 0; row < p.n * result; ++row) {
    const int64_t n = row / result, o = row % result;
    const std::vector<Tap> taps = taps_at(p, o);
    for (int64_t channel = 0; channel < p.oc;) {
      const int64_t g = channel / ocg, lane = channel % ocg;
      const int64_t lanes = std::min<int64_t>(kLanes, ocg - lane);
      S accumulators[kLanes] = {0};
      for (int64_t j = 0; j < lanes; ++j) accumulators[j] = first(channel + j);
      sum_block(p, taps, x.data() + (n * p.ic + g * icg) * p.in_volume(),
                weights[static_cast<size_t>(g)].data() + lane * p.taps() * icg, accumulators, step);
      for (int64_t j = 0; j < lanes; ++j)
        put((n * p.oc + channel + j) * result + o, accumulators[j]);
      channel += lanes;
    }
  }
}

template <class T>
void fast_conv(DotStep step, const ConvSizes& p, double lo, double hi, const Tensor& x,
               const Tensor& w, const Tensor* bias, Tensor& y) {
  using E = typename T::Element;
  const E lower = T::limit(lo), upper = T::limit(hi);
  with_dot(step, [&](auto dot) {
    walk<E>(
        p, elements<T>(x), [&](int64_t, int64_t i) { return T::load(w, i); },
        [&](int64_t channel) { return bias ? T::load(*bias, channel) : E(0); },
        [](E a, E b, E sum) QC_VECTOR_BODY { return dot_step<decltype(dot)::value>(a, b, sum); },
        [&](int64_t at, E v) {
          if (v < lower) v = lower;
          if (v > upper) v = upper;
          T::store(y, at, v);
        });
  });
}

}  // namespace

void eval_conv_fast(DotStep dot, const ConvWindow& window, const Tensor& x, const Tensor& w,
                    const Tensor* bias, Tensor& y) {
  const ConvSizes p(window, to_dims(x.shape()), to_dims(w.shape()), to_dims(y.shape()));
  fast_conv<Native<float>>(dot, p, -kInf, kInf, x, w, bias, y);
}

Result<Ok> Conv::eval_fast(EvalContext& c) const {
  if (!sum.is_standard()) return eval(c);
  ConvSizes p(*this, input_type(0).shape, input_type(1).shape, output()->shape());
  p.leave_out(valid);
  return for_arithmetic_type(c.in(0).dtype(), loc(), [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::numeric_limits<typename T::Element>::is_integer) {
      fast_conv<T>(c.dot(), p, lo, hi, c.in(0), c.in(1), c.has(2) ? &c.in(2) : nullptr, c.out(0));
    }
  });
}

Result<Ok> QConv::eval_fast(EvalContext& c) const {
  if (is_weight_only()) {
    eval_conv_fast(c.dot(), *this, c.in(0), decoded_weights(c.in(1), input_type(1)),
                   c.has(2) ? &c.in(2) : nullptr, c.out(0));
    return Ok{};
  }
  const CodeConv p(*this, c);
  std::vector<int32_t> xs(static_cast<size_t>(c.in(0).size()));
  for (int64_t i = 0; i < c.in(0).size(); ++i) {
    xs[static_cast<size_t>(i)] = static_cast<int32_t>(c.in(0).as_int(i) - p.x_zero);
  }
  walk<int64_t>(
      p, xs,
      [&](int64_t channel, int64_t i) {
        return static_cast<int32_t>(c.in(1).as_int(i) - p.w_zero(channel));
      },
      [](int64_t) { return int64_t{0}; },
      [](int32_t a, int32_t b, int64_t sum) QC_VECTOR_BODY { return sum + int64_t{a} * b; },
      [&](int64_t at, int64_t sum) { p.put(c.out(0), at, sum); });
  return Ok{};
}

}  // namespace qc
