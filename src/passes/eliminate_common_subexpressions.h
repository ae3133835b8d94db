// eliminate_common_subexpressions: equal computations are done once; of commutative ops the
// constant operand is second.
//
//   %1 = exp(%0)   %2 = exp(%0)   ->   %1 = exp(%0), readers of %2 read %1
//   add(@c, %0)                   ->   add(%0, @c)
//
// Equal means the same op, attributes and operands (the first two in either order where the op is
// commutative). Ops with regions, or that are not functions of their operands, stay.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> eliminate_common_subexpressions(Graph& graph, PassContext& context);

}  // namespace qc
