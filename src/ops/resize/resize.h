#pragma once

#include "ir/node.h"

namespace qc {

/// The operand resampled to `size`, one axis after the other. Which elements make up a result, and
/// with which weights, depends only on the sizes, so it is worked out when compiling.
class Resize final : public OpNode<Resize> {
 public:
  static const OpInfo kInfo;
  Dims size;
  Floats scales;                           // per axis; 0: the quotient of the sizes
  std::string mode = "nearest";            // nearest, linear, cubic
  std::string coordinates = "half_pixel";  // where an element of the result lies in the operand
  std::string rounding = "round_prefer_floor";  // nearest: floor, ceil, round_prefer_ceil
  double cubic_a = -0.75;
  bool antialias = false;
  bool exclude_outside = false;
  double extrapolation = 0;  // tf_crop_and_resize: the value outside the operand
  Floats roi;                // tf_crop_and_resize: starts, then ends, of all axes

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("size", size);
    v("scales", scales, Floats{});
    v("mode", mode);
    v("coordinates", coordinates, std::string("half_pixel"));
    v("rounding", rounding, std::string("round_prefer_floor"));
    v("cubic_a", cubic_a, -0.75);
    v("antialias", antialias, false);
    v("exclude_outside", exclude_outside, false);
    v("extrapolation", extrapolation, 0.0);
    v("roi", roi, Floats{});
  }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;

 private:
  /// Resampling of one axis: `taps` places and weights per element of the result.
  struct Axis {
    int64_t taps = 1;
    std::vector<int32_t> index;  // the first is -1 where the result is the extrapolation value
    std::vector<float> weight;
    bool identity = true;
    bool extrapolates = false;
  };
  /// Where element `at` of the result lies along `axis`; nothing outside the operand.
  std::optional<double> source(size_t axis, int64_t at) const;
  double scale(size_t axis) const;
  Axis axis(size_t axis) const;
  /// All axes, where every result is one element of the operand.
  std::optional<std::vector<std::vector<int64_t>>> picks() const;
};

}  // namespace qc
