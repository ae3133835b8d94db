#pragma once

#include "ir/graph.h"

namespace qc {

/// Runs its region again and again. Operands: trip limit (i64, may be omitted), condition (bool,
/// may be omitted), `carried` values, captured values. The region takes trip number (i64),
/// condition (bool), carried and captured values, and gives the next condition, the next carried
/// values (of the same types) and any number of values to stack. Outputs: the last carried values,
/// then the stacks, [trips, ...] each; stacks need a number of trips that is known before the loop
/// runs.
class Loop final : public OpNode<Loop> {
 public:
  static const OpInfo kInfo;
  int64_t carried = 0;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override { v("carried", carried, int64_t{0}); }
  Result<std::vector<Type>> infer() const override;
  Result<Ok> eval(EvalContext& c) const override;
  Result<Ok> lower(Lowering& l) const override;

 private:
  /// The condition holds on every trip, so that only the limit ends the loop.
  bool counted() const;
  size_t carried_count() const { return static_cast<size_t>(carried); }
  size_t stack_count() const { return region(0)->outputs().size() - 1 - carried_count(); }
};

}  // namespace qc
