// raise_patterns: replaces groups of nodes that compute one op by that op.
//
//   %1 = sigmoid(%0)   %2 = mul(%0, %1)   ->   %2 = silu(%0)
//
// Patterns are the rewrites that op folders register (ir/rewrite.h). Each is tried at all nodes
// whose op can be its root, and again around every replacement, until none matches.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> raise_patterns(Graph& graph, PassContext& context);

}  // namespace qc
