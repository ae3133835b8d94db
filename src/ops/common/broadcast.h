// Broadcasting on memory: how the operands of an elementwise op are walked beside its result.
#pragma once

#include <span>

#include "program/lowering.h"

namespace qc {

/// Loops over a result in the order of its bytes. Neighbouring dims that are contiguous for every
/// operand are merged and dims of one are dropped, so equal shapes give a single dim.
struct BroadcastPlan {
  Dims dims;                  // at least one
  std::vector<Dims> strides;  // per operand, in elements; 0 where it is repeated

  /// Operand i is as large as the result and in its order.
  bool is_flat(size_t i) const;
};

/// The plan for operands that broadcast to `out`. Layouts may differ. Operands lie with `strides`
/// where those are given.
BroadcastPlan plan_broadcast(const Type& out, std::span<const Type* const> operands,
                             std::span<const Dims> strides = {});

/// The plan of the node that is lowered; an error where sizes that are free do not say whether an
/// operand is repeated.
Result<BroadcastPlan> plan_broadcast(const Lowering& l, std::span<const Type* const> operands,
                                     std::span<const Dims> strides = {});

/// Fills a kernel's `rank`, `dims[8]` and `strides[8]` per operand; an error beyond 8 dims or 31
/// bits.
Result<Ok> fill_loops(const Lowering& l, const BroadcastPlan& plan, Dim& rank, Dim* dims,
                      std::span<Dim* const> strides);

/// The result type of an elementwise op on the given operands: broadcast shape, channels-last when
/// an operand of the result's rank is.
Result<Type> broadcast_type(DType dtype, std::span<const Type* const> operands, const Loc& loc);

/// The format of all operands where it is one and per tensor, else none: that of a result whose
/// elements are some of theirs.
std::shared_ptr<const Format> common_format(std::span<const Type* const> operands);

/// Calls `visit(y, a...)` with the element offset of the result and the offsets of every operand.
template <class F>
void for_each_offset(const BroadcastPlan& plan, F&& visit) {
  const size_t rank = plan.dims.size();
  const std::vector<int64_t> dims = static_dims(plan.dims);
  std::vector<std::vector<int64_t>> strides;
  for (const Dims& list : plan.strides) strides.push_back(static_dims(list));
  std::vector<int64_t> index(rank, 0), at(strides.size(), 0);
  int64_t total = 1;
  for (int64_t d : dims) total *= d;
  const int64_t run = dims.back();
  for (int64_t y = 0; y < total;) {
    for (int64_t i = 0; i < run; ++i) {
      visit(y++, static_cast<const int64_t*>(at.data()));
      for (size_t k = 0; k < at.size(); ++k) at[k] += strides[k].back();
    }
    for (size_t k = 0; k < at.size(); ++k) at[k] -= run * strides[k].back();
    for (size_t d = rank - 1; d-- > 0;) {
      for (size_t k = 0; k < at.size(); ++k) at[k] += strides[k][d];
      if (++index[d] < dims[d]) break;
      for (size_t k = 0; k < at.size(); ++k) at[k] -= dims[d] * strides[k][d];
      index[d] = 0;
    }
  }
}

}  // namespace qc
