// Observers: what calibration remembers of a value over many samples. Memory does not grow with the
// samples: the extremes, and a histogram whose bins widen as larger values come.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "quant/scheme.h"

namespace qc {

/// How the range of a value is chosen from what was observed.
enum class RangeMethod : uint8_t { minmax, percentile, entropy, mse };
std::optional<RangeMethod> parse_range_method(std::string_view name);

struct ValueRange {
  double lo = 0, hi = 0;
};

class Observer {
 public:
  static constexpr int kBins = 4096, kHalf = kBins / 2;
  static constexpr float kMark = 1e30f;
  /// Elements from which on `entropy` finds ranges: of fewer, a histogram says too little about the
  /// distribution, and codes would be left out that are needed.
  static constexpr int64_t kEntropyElements = 100'000;
  /// Numbers this far out are no results but marks, such as the least f32 in masks of attention.
  static bool is_mark(float v) { return !(v >= -kMark && v <= kMark); }

  /// Without a histogram only `minmax` can be asked for.
  explicit Observer(bool histogram) : histogram_(histogram) {}

  /// Takes in elements. Those that are not finite, or beyond +-kMark, only mark what they stand for
  /// (a position that must not be seen): they are left out of the range and saturate.
  void see(std::span<const float> values);
  /// Takes in all that another observer saw.
  void merge(const Observer& other);

  bool empty() const { return seen_ == 0; }
  int64_t seen() const { return seen_; }  // elements
  /// The least and greatest element; with marks where all others are 0.
  ValueRange extremes() const;
  /// Whether a mark below the range was seen, and how many elements were NaN.
  bool masks() const { return masks_; }
  int64_t nans() const { return nans_; }
  /// The range that loses least by `method` when quantized to `levels` codes. `percentile` is the
  /// share of elements to keep, such as 99.99.
  ValueRange range(RangeMethod method, int levels, double percentile) const;

 private:
  void widen(float magnitude);
  ValueRange percentile_range(double percent) const;
  double noise(ValueRange range, int levels) const;
  double divergence(ValueRange range, int levels) const;
  double center(int bin) const;

  bool histogram_;
  int64_t seen_ = 0;
  int64_t zeros_ = 0;  // not in the bins: zero has a code in every range
  float lo_ = 0, hi_ = 0;
  ValueRange marks_;  // the finite ones
  bool masks_ = false;
  int64_t nans_ = 0;
  float bound_ = 0;  // bins cover [-bound, bound); a power of two
  std::vector<int64_t> bins_;
};

/// The format whose codes, those of `dtype` within `codes`, cover the range. Zero has a code of its
/// own, so that padding is exact; among signed codes of 16 bits it is 0, if they have one.
struct ScaleOffset {
  float scale = 1;
  int32_t offset = 0;
  bool operator==(const ScaleOffset&) const = default;
};
ScaleOffset scale_offset(ValueRange range, CodeRange codes, DType dtype);

}  // namespace qc
