#pragma once

#include "ir/node.h"

namespace qc {

enum class PoolKind { max, average, lp };

/// Pools over one to three spatial axes of [n, c, ...]; kernels/c/pool/pool.h states what each
/// computes. With `output_size` the windows divide the input evenly (adaptive pooling) and the
/// other window attributes are empty. A max pool with `index` "plane", "tensor" or
/// "tensor_reversed" has a second output saying where each maximum is.
class Pool final : public OpNode<Pool> {
 public:
  explicit Pool(PoolKind k) : kind(k) {}
  static const OpInfo kMax, kAverage, kLp;

  PoolKind kind;
  Ints kernel, strides, dilations, pads, output_size;
  bool ceil = false;
  std::string index;         // max
  bool include_pad = false;  // average
  int64_t divisor = 0;       // average; 0: the number of taps
  int64_t power = 2;         // lp

  const OpInfo& info() const override;
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

/// Elements of x put at the places `indices` names (within each channel's plane) of zeros of the
/// given spatial size.
class MaxUnpool final : public OpNode<MaxUnpool> {
 public:
  static const OpInfo kInfo;
  Dims size;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("size", size); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
};

}  // namespace qc
