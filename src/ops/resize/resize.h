#pragma once

#include "ir/padding.h"
#include "quant/quantizable.h"

namespace qc {

/// Which elements make up a result, and with which weights. That depends only on the sizes, so it
/// is worked out when compiling.
struct Resampling {
  Dims size;
  Floats scales;                           // per axis; 0: the quotient of the sizes
  std::string mode = "nearest";            // nearest, linear, cubic
  std::string coordinates = "half_pixel";  // where an element of the result lies in the operand
  std::string rounding = "round_prefer_floor";  // nearest: floor, ceil, round_prefer_ceil
  double cubic_a = -0.75;
  bool antialias = false;
  bool exclude_outside = false;
  bool bytes = false;  // weights are multiples of a power of two, as PyTorch has them for uint8
  double extrapolation = 0;  // tf_crop_and_resize: the value outside the operand
  Floats roi;                // tf_crop_and_resize: starts, then ends, of all axes

  /// Resampling of one axis: `taps` places and weights per element of the result.
  struct Axis {
    int64_t taps = 1;
    std::vector<int32_t> index;  // the first is -1 where the result is the extrapolation value
    std::vector<double> weight;
    bool identity = true;
    bool extrapolates = false;
  };
  /// Whether the lists fit an operand, words are known, and axes stay small.
  Result<Ok> check(const Type& x, const Loc& loc) const;
  double scale(const Dims& from, size_t axis) const;
  Axis axis(const Dims& from, size_t axis) const;
  /// All axes, where every result is one element of the operand.
  std::optional<std::vector<std::vector<int64_t>>> picks(const Dims& from) const;

 private:
  /// The place of the nearest element, where ONNX Runtime's single precision decides it.
  std::optional<double> nearest_source(double scale, double in, double out, int64_t at) const;
  /// Where element `at` of the result lies along `axis`; nothing outside the operand.
  std::optional<double> source(const Dims& from, size_t axis, int64_t at) const;
};

/// Why there is no integer form under an arithmetic; empty where there is one.
std::string no_integer_resize(const Resampling& r, const Dims& from, const Arithmetic& arithmetic);

/// The operand resampled to `size`, one axis after the other.
class Resize final : public OpNode<Resize>,
                     public Resampling,
                     public Quantizable,
                     public TakesPadding {
 public:
  static const OpInfo kInfo;

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
    v("bytes", bytes, false);
    v("extrapolation", extrapolation, 0.0);
    v("roi", roi, Floats{});
  }
  Result<Ok> pad(PaddedNode& c) override { return c.rows(1); }
  Result<std::vector<Type>> infer() const override;
  /// Of linear ones over at most two axes: qresize.
  Result<Value*> quantized(Quantizer& q) const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;

 private:
  /// The operand resampled along axis `i`.
  template <class T>
  Result<Tensor> resampled(const Tensor& x, const Axis& a, size_t i) const;
};

/// Codes, or plain integers of 8 bits, resampled linearly along at most two axes.
class QResize final : public QuantNodeBase<QResize>, public Resampling, public TakesPadding {
 public:
  static const OpInfo kInfo;
  QResize() { mode = "linear"; }

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    QuantNodeBase::attrs(v);
    v("size", size);
    v("scales", scales, Floats{});
    v("coordinates", coordinates, std::string("half_pixel"));
  }
  Result<Ok> pad(PaddedNode& c) override { return c.rows(1); }
  Result<std::vector<Type>> infer() const override;
  AccumulatorProof accumulator() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool counts_from_zero() const override {
    return parsed_arithmetic().combine != Arithmetic::Combine::onnxruntime;
  }

 private:
  struct Plan;
  Plan plan() const;
};

}  // namespace qc
