// eliminate_common_subexpressions: computes equal expressions once, and makes constants the second
// operand of commutative ops.
//
//   %1 = exp(%0)   %2 = exp(%0)   ->   %1 = exp(%0), readers of %2 read %1
//   add(@c, %0)                   ->   add(%0, @c)
//
// Nodes are equal if op, attributes and operands are; commutative ops may have their first two
// operands in either order. Ops with regions, and ops that are no functions of their operands,
// stay.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> eliminate_common_subexpressions(Graph& graph, PassContext& context);

}  // namespace qc
