#include "quant/observer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qc {
namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();
}  // namespace

std::optional<RangeMethod> parse_range_method(std::string_view name) {
  constexpr std::string_view kNames[] = {"minmax", "percentile", "entropy", "mse"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<RangeMethod>(i);
  }
  return std::nullopt;
}

namespace {

/// The least and greatest element, infinities included, NaN left out; how many are NaN.
struct Extremes {
  float lo = kInfinity, hi = -kInfinity;
  int64_t nans = 0;
};

Extremes extremes_of(std::span<const float> values) {
  // Eight lanes, because compilers do not reorder the comparisons of one. NaN fails them all.
  float lo[8], hi[8];
  int32_t nans[8] = {};
  std::fill(std::begin(lo), std::end(lo), kInfinity);
  std::fill(std::begin(hi), std::end(hi), -kInfinity);
  auto take = [&](size_t k, float v) {
    lo[k] = v < lo[k] ? v : lo[k];
    hi[k] = v > hi[k] ? v : hi[k];
    nans[k] += v != v;
  };
  size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    for (size_t k = 0; k < 8; ++k) take(k, values[i + k]);
  }
  for (; i < values.size(); ++i) take(0, values[i]);
  Extremes out;
  for (size_t k = 0; k < 8; ++k) {
    out.lo = std::min(out.lo, lo[k]);
    out.hi = std::max(out.hi, hi[k]);
    out.nans += nans[k];
  }
  return out;
}

}  // namespace

void Observer::see(std::span<const float> values) {
  Extremes found = extremes_of(values);
  nans_ += found.nans;
  if (is_mark(found.lo) || is_mark(found.hi)) {
    found.lo = kInfinity;
    found.hi = -kInfinity;
    for (const float v : values) {
      if (std::isfinite(v))
        marks_ = {std::min<double>(marks_.lo, v), std::max<double>(marks_.hi, v)};
      masks_ = masks_ || v < -kMark;
      if (is_mark(v)) continue;
      found.lo = std::min(found.lo, v);
      found.hi = std::max(found.hi, v);
    }
  }
  if (found.lo > found.hi) return;  // nothing to be represented
  lo_ = seen_ ? std::min(lo_, found.lo) : found.lo;
  hi_ = seen_ ? std::max(hi_, found.hi) : found.hi;
  seen_ += static_cast<int64_t>(values.size());
  if (!histogram_) return;
  widen(std::max(std::abs(lo_), std::abs(hi_)));
  const float per_bin = static_cast<float>(kHalf) / bound_;
  for (const float v : values) {
    zeros_ += v == 0;
    if (v == 0 || is_mark(v)) continue;
    const int bin = static_cast<int>(std::floor(v * per_bin)) + kHalf;
    ++bins_[static_cast<size_t>(std::clamp(bin, 0, kBins - 1))];
  }
}

void Observer::widen(float magnitude) {
  if (bins_.empty()) {
    bins_.assign(kBins, 0);
    bound_ = std::exp2(std::floor(std::log2(std::clamp(magnitude, 1e-30f, 1e30f))) + 1);
  }
  while (bound_ <= magnitude && bound_ < 1e38f) {
    // Each new bin holds two old ones; zero stays between the middle bins.
    std::vector<int64_t> wider(kBins, 0);
    for (int i = 0; i < kBins; ++i) {
      const int to = (kHalf + i) / 2;
      wider[static_cast<size_t>(to)] += bins_[static_cast<size_t>(i)];
    }
    bins_ = std::move(wider);
    bound_ *= 2;
  }
}

void Observer::merge(const Observer& other) {
  nans_ += other.nans_;
  masks_ = masks_ || other.masks_;
  marks_ = {std::min(marks_.lo, other.marks_.lo), std::max(marks_.hi, other.marks_.hi)};
  if (other.empty()) return;
  lo_ = seen_ ? std::min(lo_, other.lo_) : other.lo_;
  hi_ = seen_ ? std::max(hi_, other.hi_) : other.hi_;
  seen_ += other.seen_;
  zeros_ += other.zeros_;
  if (!histogram_ || other.bins_.empty()) return;
  Observer twin = other;
  const float largest = std::max(bound_, other.bound_);
  if (bins_.empty()) {
    bins_ = other.bins_;
    bound_ = other.bound_;
    return;
  }
  widen(largest * 0.75f);
  twin.widen(largest * 0.75f);
  for (size_t i = 0; i < bins_.size(); ++i) bins_[i] += twin.bins_[i];
}

ValueRange Observer::extremes() const {
  // Marks beside zeros alone are a mask itself: its codes hold both exactly.
  if (lo_ == 0 && hi_ == 0) return marks_;
  return {lo_, hi_};
}

double Observer::center(int bin) const {
  return (bin - kHalf + 0.5) * (2.0 * static_cast<double>(bound_) / kBins);
}

ValueRange Observer::percentile_range(double percent) const {
  int64_t total = zeros_;
  for (int64_t c : bins_) total += c;
  const double tail = static_cast<double>(total) * (100 - percent) / 200;
  int lo = 0, hi = kBins - 1;
  for (double sum = 0; lo < hi; ++lo) {
    sum += static_cast<double>(bins_[static_cast<size_t>(lo)] + (lo == kHalf ? zeros_ : 0));
    if (sum > tail) break;
  }
  for (double sum = 0; hi > lo; --hi) {
    sum += static_cast<double>(bins_[static_cast<size_t>(hi)] + (hi == kHalf ? zeros_ : 0));
    if (sum > tail) break;
  }
  const double half = static_cast<double>(bound_) / kBins;
  return {std::max<double>(lo_, center(lo) - half), std::min<double>(hi_, center(hi) + half)};
}

double Observer::noise(ValueRange range, int levels) const {
  const double step = (range.hi - range.lo) / (levels - 1);
  double sum = 0;
  for (int i = 0; i < kBins; ++i) {
    const int64_t count = bins_[static_cast<size_t>(i)];
    if (count == 0) continue;
    const double x = center(i), inside = std::clamp(x, range.lo, range.hi);
    // Inside a step the error is uniform; beyond the range it is the distance.
    const double error = x - inside;
    sum += static_cast<double>(count) * (error * error + step * step / 12);
  }
  return sum;
}

double Observer::divergence(ValueRange range, int levels) const {
  const double half = static_cast<double>(bound_) / kBins;
  const int first = std::clamp(
      static_cast<int>((range.lo + static_cast<double>(bound_)) / (2 * half)), 0, kBins - 1);
  const int last = std::clamp(
      static_cast<int>((range.hi + static_cast<double>(bound_)) / (2 * half)), first, kBins - 1);
  std::vector<double> p(bins_.begin() + first, bins_.begin() + last + 1);
  for (int i = 0; i < first; ++i) p.front() += static_cast<double>(bins_[static_cast<size_t>(i)]);
  for (int i = last + 1; i < kBins; ++i)
    p.back() += static_cast<double>(bins_[static_cast<size_t>(i)]);
  // q: the unclipped bins, levelled within each step.
  std::vector<double> q(p.size(), 0);
  const double per_level = static_cast<double>(p.size()) / levels;
  for (int level = 0; level < levels; ++level) {
    const size_t begin = static_cast<size_t>(level * per_level);
    const size_t end = std::min(p.size(), static_cast<size_t>((level + 1) * per_level));
    double sum = 0;
    int filled = 0;
    for (size_t i = begin; i < end; ++i) {
      const int64_t count = bins_[static_cast<size_t>(first) + i];
      sum += static_cast<double>(count);
      filled += count > 0;
    }
    for (size_t i = begin; i < end; ++i) {
      if (bins_[static_cast<size_t>(first) + i] > 0) q[i] = sum / filled;
    }
  }
  double p_sum = 0, q_sum = 0, out = 0;
  for (double v : p) p_sum += v;
  for (double v : q) q_sum += v;
  if (p_sum <= 0 || q_sum <= 0) return 1e300;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] <= 0) continue;
    const double a = p[i] / p_sum, b = std::max(q[i] / q_sum, 1e-12);
    out += a * std::log(a / b);
  }
  return out;
}

ValueRange Observer::range(RangeMethod method, int levels, double percentile) const {
  const ValueRange all = extremes();
  if (method == RangeMethod::minmax || bins_.empty() || !(hi_ > lo_)) return all;
  if (method == RangeMethod::percentile) return percentile_range(percentile);
  // Both other methods try ranges that shrink towards zero.
  constexpr int kSteps = 128;
  ValueRange best = all;
  double least = 1e301;
  for (int i = kSteps; i > kSteps / 8; --i) {
    const double part = static_cast<double>(i) / kSteps;
    const ValueRange tried{std::min(all.lo, 0.0) * part, std::max(all.hi, 0.0) * part};
    const double loss = method == RangeMethod::mse ? noise(tried, levels)
                                                   : divergence(tried, std::min(levels, 256));
    if (loss < least) {
      least = loss;
      best = tried;
    }
  }
  return best;
}

ScaleOffset scale_offset(ValueRange range, CodeRange codes, DType dtype) {
  const double lo = std::min(range.lo, 0.0), hi = std::max(range.hi, 0.0);
  ScaleOffset out;
  const bool symmetric = dtype == DType::i16 && codes.lo < 0 && codes.hi > 0;
  if (symmetric) {
    // Of all codes the least is left out.
    const auto above = static_cast<double>(codes.hi);
    const double below = codes.lo == -codes.hi - 1 ? above : -static_cast<double>(codes.lo);
    out.scale = static_cast<float>(std::max(-lo / below, hi / above));
  } else {
    out.scale = static_cast<float>((hi - lo) / static_cast<double>(codes.hi - codes.lo));
  }
  if (!(out.scale > 1e-30f) || !std::isfinite(out.scale)) return {};
  if (!symmetric) {
    const double zero = static_cast<double>(codes.lo) - lo / static_cast<double>(out.scale);
    out.offset = static_cast<int32_t>(std::clamp(
        std::nearbyint(zero), static_cast<double>(codes.lo), static_cast<double>(codes.hi)));
  }
  return out;
}

}  // namespace qc
