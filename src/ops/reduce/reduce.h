#pragma once

#include <span>
#include <string>

#include "frontends/common/foreign.h"
#include "ir/padding.h"
#include "quant/quantizable.h"

namespace qc {

enum class ReduceKind : uint8_t {
  sum,
  mean,
  max,
  min,
  prod,
  l1,
  l2,
  sum_square,
  log_sum,
  log_sum_exp,
  var,
  std,
  any,
  all
};

struct ReduceOp {
  ReduceKind kind;
  const char* name;
  OpInfo info;
};

/// Which axes of a value are reduced, and whether they stay with size 1.
struct ReducedAxes {
  Ints axes;  // empty: all
  bool keepdims = true;

  /// One flag per axis; an error for one out of range or given twice.
  Result<std::vector<bool>> reduced(int64_t rank, const Loc& loc) const;
  Result<Dims> shape(const Type& x, const Loc& loc) const;
};

/// Loops over some axes of a value, merged where they are contiguous.
struct ReduceLoops {
  Dims dims, strides;

  void add(const Dim& dim, const Dim& stride);
  Result<Ok> fill(const Lowering& l, Dim& rank, Dim* d, Dim* s);
};
/// Loops over the rows of x, in the order the result lies in memory, and over a row's elements in
/// logical order.
struct ReducePlan {
  ReduceLoops outer, inner;
};
ReducePlan plan_reduce(const Type& x, const Type& y, const std::vector<bool>& gone, bool keepdims);

/// One element per row: the elements along the reduced axes, in row-major order. No axes means all.
/// Floats are summed in 16 lanes (kernels/numerics/reduce.h); integers wrap in their own type.
class Reduce final : public OpNode<Reduce>,
                     public ReducedAxes,
                     public Quantizable,
                     public TakesPadding {
 public:
  explicit Reduce(const ReduceOp* op) : op_(op) {}
  double correction = 1;  // var and std: the divisor is n - correction

  const OpInfo& info() const override { return op_->info; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  std::optional<Dims> contents() const override;
  /// Of sums and means: qsum, qmean.
  Result<Value*> quantized(Quantizer& q) const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;

 private:
  const ReduceOp* op_;
};

/// Codes of the sum (mean) of each row of codes, from its exact sum.
class QReduce final : public QuantNodeBase<QReduce>, public ReducedAxes, public TakesPadding {
 public:
  explicit QReduce(bool mean) : mean_(mean) {}
  static const OpInfo kSum, kMean;
  Dim count = 0;  // means: of how many elements, the others being the zero point; 0: of all

  const OpInfo& info() const override { return mean_ ? kMean : kSum; }
  void attrs(AttrVisitor& v) override;
  Result<Ok> pad(PaddedNode& c) override;
  Result<std::vector<Type>> infer() const override;
  AccumulatorProof accumulator() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;
  bool counts_from_zero() const override { return true; }

 private:
  /// How many elements a mean is of.
  Dim counted() const;
  /// What the sum is multiplied by to give a code.
  float multiplier() const;
  /// The same as integers: mantissa * 2^-shift / divisor.
  struct Exactly {
    int32_t mantissa = 0, shift = 0, divisor = 1;
  };
  Exactly multiplier_q31() const;
  bool mean_;
};

std::span<const ImportRow> reduce_onnx_rows();
std::span<const ImportRow> reduce_aten_rows();

}  // namespace qc
