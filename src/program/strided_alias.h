// Views that stay in place: a part of a value, or the value with its axes in another order, need
// not be copied for readers whose kernels take strides.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace qc {

/// An op whose kernels take operands that lie otherwise than densely.
class TakesStrides {
 public:
  virtual ~TakesStrides() = default;
  /// Whether they take operand i with these strides, in elements. Along the last axis elements
  /// follow each other.
  virtual bool takes_strides(size_t operand, const Dims& strides) const = 0;
};

/// Where the elements of a view lie, from the first element of what it is a view of.
struct StridedAlias {
  Dims strides;
  Dim offset;
};

/// An op whose result is elements of its operand, a stride apart along every axis.
class AliasesOperand {
 public:
  virtual ~AliasesOperand() = default;
  /// Its result where the operand has the strides `x`; nullopt where it must be copied.
  virtual std::optional<StridedAlias> alias(const Dims& x) const = 0;
};

/// Where a value lies within the operand of its view, whose own strides are then those given by
/// this function too: where all who read it take it so. Nullopt: it lies densely.
std::optional<StridedAlias> strided_alias(const Value* value);
/// The strides of operand i of a node, dense ones where it is not placed.
Dims strides_in(const Node& node, size_t i);

/// Rows of the last axis in blocks: `rows` of them follow each other, blocks begin `stride`
/// elements from each other.
struct RowBlocks {
  Dim rows = 1, stride = 0;
};
/// The blocks of a value with these strides; nullopt where it does not lie so.
std::optional<RowBlocks> row_blocks(const Dims& shape, const Dims& strides);

/// Whether rows of the last axis of a shape lie at one distance from each other.
bool are_rows_apart(const Dims& shape, const Dims& strides);

}  // namespace qc
