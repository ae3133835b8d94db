#pragma once

#include "ir/border.h"
#include "ir/padding.h"
#include "ops/common/window.h"
#include "quant/quantizable.h"

namespace qc {

/// The sizes of a pool with three spatial axes; those that it does not have come first and have one
/// element and one tap.
struct PoolSizes {
  int32_t n, c, in[3], out[3], k[3], stride[3], dilation[3], pad[3], end[3], valid[3];
  int32_t adaptive, include, divisor;
};

/// The windows of a pool over one to three spatial axes of [n, c, ...]. With `output_size` they
/// divide the input evenly (adaptive pooling) and the other lists are empty.
struct PoolWindow {
  Ints kernel, strides, dilations, pads, output_size;
  bool ceil = false;
  bool include_pad = false;  // means
  int64_t divisor = 0;       // means; 0: the number of taps
  Dims valid;  // of each spatial axis: elements from here on count as outside; empty: none do

  void window_attrs(AttrVisitor& v);
  void mean_attrs(AttrVisitor& v);
  Result<Dims> pooled(const Dims& x, const Loc& loc) const;
  /// Sets sizes and windows for static shapes: PoolSizes, or parameters of kernels.
  template <class Params>
  void fill(Params& p, const Dims& x, const Dims& y) const;
  PoolSizes sizes(const Dims& x, const Dims& y) const;
  /// Padding of the operand becomes what is outside.
  Result<Ok> pad_window(PaddedNode& c);
  /// Every window has an element of the input under it.
  bool always_taps(const Dims& x, const Dims& y) const;
};

/// Input positions a window takes along one axis, and how many of its taps are in the padded input.
struct Taps {
  Ints at;
  int64_t counted = 0;
};
Taps taps_of(const PoolSizes& p, int axis, int64_t o);

enum class PoolKind { max, average, lp };

/// Pools; kernels/pool/pool.h states what each computes. A max pool with `index` "plane",
/// "tensor" or "tensor_reversed" has a second output saying where each maximum is.
class Pool final : public OpNode<Pool>,
                   public PoolWindow,
                   public Quantizable,
                   public TakesBorder,
                   public TakesPadding {
 public:
  explicit Pool(PoolKind k) : kind(k) {}
  static const OpInfo kMax, kAverage, kLp;

  PoolKind kind;
  std::string index;  // max
  int64_t power = 2;  // lp

  const OpInfo& info() const override;
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  /// Of max pools without places: a border of the lowest.
  std::unique_ptr<Node> with_border(const Border& border) const override;
  Result<std::vector<Type>> infer() const override;
  /// Of average pools: qavg_pool.
  Result<Value*> quantized(Quantizer& q) const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// Codes of the means under each window of codes; docs/arithmetic.md has the formulas.
class QAveragePool final : public QuantNodeBase<QAveragePool>,
                           public PoolWindow,
                           public TakesBorder,
                           public TakesPadding {
 public:
  static const OpInfo kInfo;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  /// Zeros, which count among the elements whose mean is taken.
  std::unique_ptr<Node> with_border(const Border& border) const override;
  Result<std::vector<Type>> infer() const override;
  AccumulatorProof accumulator() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  /// Means under windows that divide the input are exact under every arithmetic.
  bool counts_from_zero() const override {
    return parsed_arithmetic().combine != Arithmetic::Combine::onnxruntime || !output_size.empty();
  }

 private:
  enum class Method : uint8_t { exact, q31, onnxruntime, f32 };
  Method method() const;
  /// What sums are divided by; 0: the number of taps.
  int64_t divided_by() const;
};

template <class Params>
void PoolWindow::fill(Params& p, const Dims& in_shape, const Dims& out_shape) const {
  const size_t axes = in_shape.size() - 2;
  auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  const bool adaptive = !output_size.empty();
  set_size(p.n, in_shape[0]);
  set_size(p.c, in_shape[1]);
  p.adaptive = adaptive ? 1 : 0;
  for (size_t i = 0; i < 3; ++i) {
    const bool used = i + axes >= 3, window = used && !adaptive;
    const size_t a = used ? i + axes - 3 : 0;
    set_size(p.in[i], used ? in_shape[2 + a] : Dim(1));
    set_size(p.out[i], used ? out_shape[2 + a] : Dim(1));
    p.k[i] = window ? i32(kernel[a]) : 1;
    p.stride[i] = window ? i32(strides[a]) : 1;
    p.dilation[i] = window ? i32(dilations[a]) : 1;
    p.pad[i] = window ? i32(pads[a]) : 0;
    p.end[i] = window ? i32(pads[axes + a]) : 0;
    set_size(p.valid[i], !used           ? Dim(1)
                         : valid.empty() ? in_shape[2 + a]
                                         : min(valid[a], in_shape[2 + a]));
  }
  p.include = include_pad ? 1 : 0;
  p.divisor = i32(divisor);
}

}  // namespace qc
