// Views that alias their operand: slices and transposes are not copied if all readers' kernels take
// strides.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace qc {

/// An op whose kernels take strided operands.
class TakesStrides {
 public:
  virtual ~TakesStrides() = default;
  /// Whether they take operand i with these strides, in elements. The last axis is contiguous.
  virtual bool takes_strides(size_t operand, const Dims& strides) const = 0;
};

/// Strides and offset of a view's elements, in elements of the view's operand.
struct StridedAlias {
  Dims strides;
  Dim offset;
};

/// An op whose result is a strided view of its operand.
class AliasesOperand {
 public:
  virtual ~AliasesOperand() = default;
  /// The view if the operand has the strides `x`; nullopt if the result must be copied.
  virtual std::optional<StridedAlias> alias(const Dims& x) const = 0;
};

/// How a value aliases the operand of its view, which may itself alias another value. Nullopt if it
/// is dense: it is no view, or some reader does not take these strides.
std::optional<StridedAlias> strided_alias(const Value* value);
/// The strides of operand i of a node; dense ones if it aliases nothing.
Dims strides_in(const Node& node, size_t i);

/// Rows of the last axis in blocks: the `rows` of a block are contiguous, and blocks are `stride`
/// elements apart.
struct RowBlocks {
  Dim rows = 1, stride = 0;
};
/// The blocks of a value with these strides; nullopt if it does not consist of such blocks.
std::optional<RowBlocks> row_blocks(const Dims& shape, const Dims& strides);

/// Whether all rows of the last axis are the same distance apart.
bool are_rows_apart(const Dims& shape, const Dims& strides);

}  // namespace qc
