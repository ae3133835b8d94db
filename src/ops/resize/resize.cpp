#include "ops/resize/resize.h"

#include <algorithm>
#include <cmath>

#include "kernels/numerics/base.h"
#include "kernels/resize/calls.h"
#include "ops/common/index.h"
#include "ops/common/table.h"
#include "support/budget.h"
#include "support/checked.h"

namespace qc {

const OpInfo Resize::kInfo = {
    .name = "resize",
    .traits = kAnyLayout | kOnCodes | kQuantizedInFloat,
    .summary = "resamples to another size: nearest, linear or cubic",
};

namespace {

constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
constexpr std::string_view kCoordinates[] = {
    "half_pixel",           "asymmetric",           "align_corners",      "pytorch_half_pixel",
    "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", "single_asymmetric",
    "single_half_pixel",    "corners_half_pixel",
};
constexpr std::string_view kRounding[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};

bool listed(std::span<const std::string_view> list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

double linear_filter(double x) { return std::max(0.0, 1 - std::fabs(x)); }

double cubic_filter(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// Weights as PyTorch's kernels of bytes have them: weights of elements outside belong to the
/// nearest one inside; then all are rounded to multiples of one power of two, so that the largest
/// fits into 15 bits. Sums of products with bytes are exact then.
void round_weights(Resampling::Axis& a, std::vector<double>& weights) {
  const size_t taps = static_cast<size_t>(a.taps);
  double largest = 0;
  for (size_t at = 0; at < weights.size(); at += taps) {
    for (size_t t = 1; t < taps; ++t) {  // equal places are neighbours
      if (a.index[at + t] != a.index[at + t - 1]) continue;
      weights[at + t] += weights[at + t - 1];
      weights[at + t - 1] = 0;
    }
    for (size_t t = 0; t < taps; ++t) largest = std::max(largest, weights[at + t]);
  }
  int bits = 0;
  while (bits < 22 && 0.5 + std::ldexp(largest, bits + 1) < double{1 << 15}) ++bits;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double steps = std::ldexp(weights[i], bits);
    a.weight[i] = std::ldexp(std::trunc(steps + (steps < 0 ? -0.5 : 0.5)), -bits);
  }
}

}  // namespace

Result<Ok> Resampling::check(const Type& x, const Loc& loc) const {
  const size_t rank = x.shape.size();
  if (size.size() != rank || (!scales.empty() && scales.size() != rank) ||
      (!roi.empty() && roi.size() != 2 * rank)) {
    return error(Code::attribute, loc, "{} sizes, {} scales and {} limits for {}", size.size(),
                 scales.size(), roi.size(), str(x));
  }
  if (!listed(kModes, mode) || !listed(kCoordinates, coordinates) || !listed(kRounding, rounding)) {
    return error(Code::attribute, loc, "mode '{}', coordinates '{}', rounding '{}'", mode,
                 coordinates, rounding);
  }
  if (coordinates == "tf_crop_and_resize" && roi.empty()) {
    return error(Code::attribute, loc, "{} needs a region", coordinates);
  }
  for (double s : scales) {
    if (!(s >= 0) || std::isinf(s)) return error(Code::attribute, loc, "a scale of {}", s);
  }
  for (size_t i = 0; i < rank; ++i) {
    if (!size[i].is_static()) continue;
    if (size[i].value() < 0 || (size[i].value() > 0 && x.shape[i] == Dim(0))) {
      return error(Code::shape, loc, "cannot resize axis {} of {} to {}", i, str(x),
                   size[i].value());
    }
    // The tables of places and weights must stay small.
    const double taps =
        !antialias || scales.empty() || scales[i] == 0 ? 4 : 4 + 4 / std::min(scales[i], 1.0);
    if (static_cast<double>(size[i].value()) * taps > double{1 << 26}) {
      return error(Code::limit, loc, "axis {} becomes {} long", i, size[i].value());
    }
  }
  return Ok{};
}

Result<std::vector<Type>> Resize::infer() const {
  const Type& x = input_type(0);
  QC_TRY(check(x, loc()));
  const bool moves = mode == "nearest" && coordinates != "tf_crop_and_resize";
  if (!moves && x.dtype != DType::f32 && x.dtype != DType::f64) {
    return error(Code::type, loc(), "{} interpolation of {} values, expected f32 or f64", mode,
                 name(x.dtype));
  }
  return std::vector<Type>{moved(x, size)};
}

double Resampling::scale(const Dims& from, size_t i) const {
  if (coordinates == "corners_half_pixel") {
    // No step at all is that of a scale beyond all sizes.
    const double in = static_cast<double>(from[i].value() - 1);
    const double out = static_cast<double>(size[i].value() - 1);
    return in > 0 && out > 0 ? out / in : 1e18;
  }
  if (!scales.empty() && scales[i] > 0) return scales[i];
  return static_cast<double>(size[i].value()) / static_cast<double>(from[i].value());
}

std::optional<double> Resampling::nearest_source(double scale, double in, double out,
                                                 int64_t at) const {
  if (mode != "nearest") return std::nullopt;
  const float s = static_cast<float>(scale), x = static_cast<float>(at);
  if (coordinates == "asymmetric") return x / s;
  if (coordinates == "align_corners" && out > 1) {
    return qn_mulf(x, static_cast<float>(in - 1)) / static_cast<float>(out - 1);
  }
  if (coordinates == "half_pixel" || (coordinates == "pytorch_half_pixel" && out > 1)) {
    return (x + 0.5f) / s - 0.5f;
  }
  if (coordinates == "tf_half_pixel_for_nn") return (x + 0.5f) / s;
  return std::nullopt;
}

std::optional<double> Resampling::source(const Dims& from, size_t i, int64_t at) const {
  const double in = static_cast<double>(from[i].value());
  const double s = scale(from, i), x = static_cast<double>(at);
  const double whole = static_cast<double>(size[i].value());
  // The ONNX node tests shrink to a length that is not rounded; ONNX Runtime and PyTorch, which
  // everything else follows, count elements.
  const bool given = !scales.empty() && scales[i] > 0;
  const bool shrinks = s < 1 && given && mode != "nearest" && !antialias;
  const double out = coordinates == "half_pixel_symmetric" || shrinks ? s * in : whole;
  if (const auto position = nearest_source(s, in, whole, at)) return position;
  if (coordinates == "asymmetric") return x / s;
  if (coordinates == "align_corners") {
    return whole == 1 || out == 1 ? 0.0 : x * (in - 1) / (out - 1);
  }
  if (coordinates == "pytorch_half_pixel") return whole == 1 ? 0.0 : (x + 0.5) / s - 0.5;
  if (coordinates == "half_pixel_symmetric") {
    return in / 2 * (1 - whole / out) + (x + 0.5) / s - 0.5;
  }
  if (coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / s;
  if (coordinates == "tf_crop_and_resize") {
    const double start = roi[i], end = roi[i + size.size()];
    double position = start * (in - 1);
    position += out == 1 ? (end - start) * (in - 1) / 2 : x * (end - start) * (in - 1) / (out - 1);
    if (!(position >= 0 && position <= in - 1)) return std::nullopt;
    return position;
  }
  // PyTorch rounds the step and the product to single precision.
  if (coordinates == "single_asymmetric" || coordinates == "single_half_pixel") {
    const float step = !scales.empty() && scales[i] > 0
                           ? static_cast<float>(1.0 / scales[i])
                           : static_cast<float>(in) / static_cast<float>(size[i].value());
    const float shift = coordinates == "single_asymmetric" ? 0.0f : 0.5f;
    return static_cast<double>((static_cast<float>(at) + shift) * step);
  }
  return (x + 0.5) / s - 0.5;
}

Resampling::Axis Resampling::axis(const Dims& from, size_t i) const {
  const int64_t in = from[i].value(), out = size[i].value();
  // Shrinking with antialiasing widens the filter by the scale.
  const double shrink = antialias ? std::min(scale(from, i), 1.0) : 1.0;
  const bool cubic = mode == "cubic";
  const double reach = (cubic ? 2 : 1) / shrink;
  const int64_t half =
      static_cast<int64_t>(std::min(std::ceil(reach), 2 * static_cast<double>(in) + 2));
  Axis result;
  result.taps = mode == "nearest" ? 1 : 2 * half;
  spend(Cost::work, 16 * out * result.taps);
  std::vector<double> weights(static_cast<size_t>(result.taps)), all;
  for (int64_t j = 0; j < out; ++j) {
    const std::optional<double> position = source(from, i, j);
    const double x = std::clamp(position.value_or(0), -1.0e9, 1.0e9), low = std::floor(x);
    int64_t first = static_cast<int64_t>(low);
    if (mode == "nearest") {
      const double part = x - low;
      const bool up = rounding == "ceil"                ? part > 0
                      : rounding == "floor"             ? false
                      : rounding == "round_prefer_ceil" ? part >= 0.5
                                                        : part > 0.5;
      first += up ? 1 : 0;
      weights[0] = 1;
    } else {
      first -= half - 1;
      double sum = 0;
      for (int64_t t = 0; t < result.taps; ++t) {
        const double distance = (static_cast<double>(first + t) - x) * shrink;
        double w = cubic ? cubic_filter(distance, cubic_a) : linear_filter(distance);
        if (exclude_outside && (first + t < 0 || first + t >= in)) w = 0;
        weights[static_cast<size_t>(t)] = w;
        sum += w;
      }
      if ((exclude_outside || antialias) && sum != 0) {
        for (double& w : weights) w /= sum;
      }
    }
    for (int64_t t = 0; t < result.taps; ++t) {
      const int64_t at = std::clamp<int64_t>(first + t, 0, in - 1);
      const double w = weights[static_cast<size_t>(t)];
      result.index.push_back(position ? static_cast<int32_t>(at) : -1);
      result.weight.push_back(w);
      result.identity = result.identity && position && in == out && w == (at == j ? 1.0 : 0.0);
    }
    result.extrapolates = result.extrapolates || !position;
    if (bytes) all.insert(all.end(), weights.begin(), weights.end());
  }
  if (bytes) round_weights(result, all);
  return result;
}

std::optional<Tables> Resampling::picks(const Dims& from) const {
  if (mode != "nearest") return std::nullopt;
  Tables out;
  for (size_t i = 0; i < size.size(); ++i) {
    const Axis a = axis(from, i);
    if (a.extrapolates) return std::nullopt;
    out.emplace_back(a.index.begin(), a.index.end());
  }
  return out;
}

template <class T>
Result<Tensor> Resize::resampled(const Tensor& x, const Axis& a, size_t i) const {
  Ints shape = x.shape();
  const int64_t inner = extent(shape, i + 1, shape.size()), in = shape[i], out = size[i].value();
  shape[i] = out;
  QC_TRY(checked_bytes(x.dtype(), shape));
  Tensor y(x.dtype(), shape);
  spend(Cost::work, saturating_mul(4 * a.taps, y.size()));
  const T* from = x.data<T>();
  T* to = y.mutable_data<T>();
  for (int64_t n = 0; n < y.size(); ++n) {
    const int64_t o = n / (inner * out), j = n / inner % out, k = n % inner;
    T sum = 0;
    for (int64_t t = 0; t < a.taps; ++t) {
      const size_t tap = static_cast<size_t>(j * a.taps + t);
      if (a.index[tap] < 0) {
        sum = static_cast<T>(static_cast<float>(extrapolation));
        break;
      }
      const T weight = static_cast<T>(a.weight[tap]);
      const T value = from[(o * in + a.index[tap]) * inner + k];
      if constexpr (std::is_same_v<T, double>) {
        sum = qn_fma(weight, value, sum);
      } else {
        sum = qn_fmaf(weight, value, sum);
      }
    }
    to[n] = sum;
  }
  return y;
}

Result<Ok> Resize::eval(EvalContext& c) const {
  Tensor x = c.in(0);
  if (c.out(0).size() == 0) return Ok{};
  if (auto tables = picks(input_type(0).shape)) {
    const Ints strides = strides_of(x.shape());
    for (size_t i = 0; i < strides.size(); ++i) {
      for (int64_t& position : (*tables)[i]) position *= strides[i];
    }
    pick_elements(*tables, x, c.out(0));
    return Ok{};
  }
  for (size_t i = 0; i < size.size(); ++i) {
    const Axis a = axis(input_type(0).shape, i);
    if (a.identity) continue;
    QC_ASSIGN(x, x.dtype() == DType::f64 ? resampled<double>(x, a, i) : resampled<float>(x, a, i));
  }
  c.set_out(0, std::move(x));
  return Ok{};
}

Result<Ok> Resize::lower(Lowering& l) const {
  const Type& type = l.in_type(0);
  if (count(l.out_dims()) == 0) return Ok{};
  if (mode == "nearest") QC_TRY(l.need_numbers());
  if (auto tables = picks(input_type(0).shape)) {
    return call_table(l, physical_tables(*tables, type, l.out_type()), type.dtype, l.in(0),
                      l.out());
  }
  std::vector<std::pair<size_t, Axis>> passes;
  for (size_t i = 0; i < size.size(); ++i) {
    const bool untouched = size[i] == type.shape[i] && scales.empty() && roi.empty();
    if (untouched && !size[i].is_static()) continue;
    if (!size[i].is_static() || !type.shape[i].is_static()) QC_TRY(l.need_numbers());
    Axis a = axis(type.shape, i);
    if (!a.identity) passes.emplace_back(i, std::move(a));
  }
  View from = l.in(0);
  Dims dims = l.in_dims(0);
  const bool same = type.layout == l.out_type().layout;
  if (passes.empty() && same) {
    l.alias(0, from);
    return Ok{};
  }
  for (size_t n = 0; n < passes.size(); ++n) {
    const Axis& a = passes[n].second;
    const size_t at =
        static_cast<size_t>(physical_axis(type, static_cast<int64_t>(passes[n].first)));
    kernel::Resize p;
    p.in = dims[at];
    p.out = size[passes[n].first];
    p.taps = static_cast<int32_t>(a.taps);
    p.fill = static_cast<float>(extrapolation);
    QC_ASSIGN(p.outer, l.param(extent(dims, 0, at)));
    QC_ASSIGN(p.inner, l.param(extent(dims, at + 1, dims.size())));
    dims[at] = p.out;
    QC_TRY(l.param(product(dims) * Dim(static_cast<int64_t>(qc::bytes(type.dtype)))));
    const View to =
        same && n + 1 == passes.size() ? l.out() : l.scratch(type.dtype, dims, "resized");
    const int64_t taps = static_cast<int64_t>(a.index.size());
    Tensor weights(type.dtype, {taps});
    for (int64_t k = 0; k < taps; ++k) weights.set_double(k, a.weight[static_cast<size_t>(k)]);
    p.type = name(type.dtype);
    p.x = from;
    p.positions = l.constant(Tensor::of<int32_t>(DType::i32, {taps}, a.index), "positions");
    p.weights = l.constant(std::move(weights), "weights");
    p.y = to;
    l.emit(p, {.in_place = {}, .macs = l.bounds(Dim(a.taps) * count(dims)).max});
    from = to;
  }
  if (same) return Ok{};
  Type resized(type.dtype, size);
  resized.layout = type.layout;
  return call_strided(l, {size, strides_of(resized), strides_of(l.out_type())}, type.dtype, from,
                      l.out());
}

}  // namespace qc
