#include "ops/conv/weight_only.h"

#include "interp/eval.h"
#include "kernels/numerics/quant.h"
#include "kernels/wconv/calls.h"
#include "ops/conv/operands.h"
#include "quant/groups.h"

namespace qc {
namespace {

/// Where kernels want what belongs to one weight: codes in panels or, of a depthwise convolution,
/// tap by tap; numbers once for all weights that share them.
struct WeightPlaces {
  int64_t ocg, icg, taps, oc, group, runs;
  bool depth, by_tap;

  WeightPlaces(const kernel::Wconv& p, const Format& f)
      : ocg(p.oc / p.groups),
        icg(p.ic / p.groups),
        taps(int64_t{p.k[0]} * p.k[1] * p.k[2]),
        oc(p.oc),
        group(f.granularity == Granularity::group ? f.group : std::max<int64_t>(icg, 1)),
        runs((icg + group - 1) / group),
        depth(p.groups == p.ic && p.groups == p.oc),
        by_tap(f.granularity == Granularity::group && taps > 1) {}

  Ints codes_shape() const {
    if (depth) return {taps, oc};
    return {oc / ocg, (ocg + 15) / 16, taps, icg, 16};
  }
  Ints numbers_shape() const {
    if (depth) return {by_tap ? taps : 1, oc};
    return {oc / ocg, (ocg + 15) / 16, by_tap ? taps : 1, runs, 16};
  }
  /// The place of element i of weights [oc, icg, taps].
  int64_t code(int64_t i) const { return place(i, i / taps % icg, i % taps, icg, taps); }
  int64_t number(int64_t i) const {
    return place(i, i / taps % icg / group, by_tap ? i % taps : 0, runs, by_tap ? taps : 1);
  }

 private:
  int64_t place(int64_t i, int64_t k, int64_t tap, int64_t ks, int64_t tap_count) const {
    const int64_t o = i / (icg * taps);
    if (depth) return tap * oc + o;
    const int64_t panel = o / ocg * ((ocg + 15) / 16) + o % ocg / 16;
    return ((panel * tap_count + tap) * ks + k) * 16 + o % ocg % 16;
  }
};

/// Numbers of the scales of `type` where kernels want them, `of(scale index)` each.
template <class T, class F>
Tensor spread_numbers(DType dtype, const WeightPlaces& places, const Type& type, F&& of) {
  Tensor out(dtype, places.numbers_shape());
  T* y = out.mutable_data<T>();
  Groups(type).for_each([&](int64_t i, int64_t g) { y[places.number(i)] = of(g); });
  return out;
}

bool one_zero_point(const Format& f) {
  if (f.zero_point.kind != Component::Kind::known) return true;
  for (int64_t i = 1; i < f.zero_point.values.size(); ++i) {
    if (f.zero_at(i) != f.zero_at(0)) return false;
  }
  return true;
}

}  // namespace

Tensor decoded_weights(const Tensor& codes, const Type& type) {
  Tensor out(DType::f32, codes.shape());
  float* y = out.mutable_data<float>();
  const Format& f = *type.format;
  Groups(type).for_each([&](int64_t i, int64_t g) {
    y[i] = qn_dequantize(static_cast<int32_t>(codes.as_int(i)), f.scale_at(g), f.zero_at(g));
  });
  return out;
}

Result<Ok> lower_weight_only(Lowering& l, const QConv& node) {
  const Type w = l.in_type(1);
  const Format& f = *w.format;
  kernel::Wconv p;
  fill_sizes(p, node, l.in_type(0).shape, w.shape, l.out_type().shape);
  const WeightPlaces places(p, f);
  const int32_t shift = is_signed(w.dtype) || bits(w.dtype) < 8 ? 0 : 128;  // codes are i8
  p.last = l.in_type(0).layout == Layout::channels_last ? 1 : 0;
  p.group = static_cast<int32_t>(places.group);
  p.by_tap = places.by_tap ? 1 : 0;
  p.zero = f.zero_at(0) - shift;
  View zeros;
  if (!one_zero_point(f)) {
    zeros = l.constant(spread_numbers<int32_t>(DType::i32, places, w,
                                               [&](int64_t g) { return f.zero_at(g) - shift; }),
                       "zero points");
  }
  const View scales = l.constant(
      spread_numbers<float>(DType::f32, places, w, [&](int64_t g) { return f.scale_at(g); }),
      "scales");
  const Ints shape = places.codes_shape();
  const std::string purpose =
      fmt::format("{}.{}{}", places.depth ? "wdepth" : "wpanels", p.groups, shift ? ".u8" : "");
  const View codes =
      l.derived(*l.constant_in(1), purpose, DType::i8, shape, [=](const Tensor& from) {
        Tensor out(DType::i8, shape);
        for (int64_t i = 0; i < from.size(); ++i) {
          out.set_int(places.code(i), from.as_int(i) - shift);
        }
        return Result<Tensor>(std::move(out));
      });
  p.path = places.depth ? "depthwise" : "any";
  p.x = l.in(0);
  p.w = codes;
  p.scales = scales;
  p.w_zeros = zeros;
  p.bias = l.optional(2);
  p.y = l.out();
  l.emit(p, {.in_place = {}, .macs = node.macs()});
  return Ok{};
}

}  // namespace qc
