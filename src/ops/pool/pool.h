#pragma once

#include "kernels/pool/pool.h"
#include "quant/quantizable.h"

namespace qc {

/// The windows of a pool over one to three spatial axes of [n, c, ...]. With `output_size` they
/// divide the input evenly (adaptive pooling) and the other lists are empty.
struct PoolWindow {
  Ints kernel, strides, dilations, pads, output_size;
  bool ceil = false;
  bool include_pad = false;  // means
  int64_t divisor = 0;       // means; 0: the number of taps

  void window_attrs(AttrVisitor& v);
  void mean_attrs(AttrVisitor& v);
  Result<Dims> pooled(const Dims& x, const Loc& loc) const;
  /// Kernel parameters for static shapes.
  qk_pool_params params(const Dims& x, const Dims& y) const;
  /// Every window has an element of the input under it.
  bool always_taps(const Dims& x, const Dims& y) const;
};

/// Input positions a window takes along one axis, and how many of its taps are in the padded input.
struct Taps {
  Ints at;
  int64_t counted = 0;
};
Taps taps_of(const qk_pool_params& p, int axis, int64_t o);

enum class PoolKind { max, average, lp };

/// Pools; kernels/pool/pool.h states what each computes. A max pool with `index` "plane",
/// "tensor" or "tensor_reversed" has a second output saying where each maximum is.
class Pool final : public OpNode<Pool>, public PoolWindow, public Quantizable {
 public:
  explicit Pool(PoolKind k) : kind(k) {}
  static const OpInfo kMax, kAverage, kLp;

  PoolKind kind;
  std::string index;  // max
  int64_t power = 2;  // lp

  const OpInfo& info() const override;
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  /// Of average pools: qavg_pool.
  Result<Value*> quantized(Quantizer& q) const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// Codes of the means under each window of codes; docs/arithmetic.md has the formulas.
class QAveragePool final : public UnaryQuantNode<QAveragePool>, public PoolWindow {
 public:
  static const OpInfo kInfo;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  AccumulatorProof accumulator() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  /// Means under windows that divide the input are exact under every record.
  bool counts_from_zero() const override {
    return record().combine != Arithmetic::Combine::onnxruntime || !output_size.empty();
  }

 private:
  enum class Form : uint8_t { exact, q31, onnxruntime, f32 };
  Form form() const;
};

}  // namespace qc
