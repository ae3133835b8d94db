#pragma once

#include <span>
#include <string>

#include "frontends/common/foreign.h"

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

/// One element per row: the elements along the reduced axes, in row-major order. No axes means all.
/// Floats are summed in 16 lanes (kernels/numerics/reduce.h); integers wrap in their own type.
class Reduce final : public OpNode<Reduce> {
 public:
  explicit Reduce(const ReduceOp* op) : op_(op) {}
  Ints axes;
  bool keepdims = true;
  double correction = 1;  // var and std: the divisor is n - correction

  const OpInfo& info() const override { return op_->info; }
  void attrs(AttrVisitor& v) override;
  Result<std::vector<Type>> infer() const override;
  std::optional<Dims> contents() const override;
  Result<Ok> eval(EvalContext&) const override;
  Result<Ok> lower(Lowering&) const override;

 private:
  /// Which axes are reduced; an error for one out of range or given twice.
  Result<std::vector<bool>> reduced() const;
  const ReduceOp* op_;
};

std::span<const ImportRow> reduce_onnx_rows();
std::span<const ImportRow> reduce_aten_rows();

}  // namespace qc
