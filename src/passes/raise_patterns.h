// raise_patterns: groups of nodes that spell one op become that op.
//
//   %1 = sigmoid(%0)   %2 = mul(%0, %1)   ->   %2 = silu(%0)
//
// The patterns are the rewrites that op folders registered (ir/rewrite.h); they are tried at each
// node whose op can be their root, and again around every replacement, until none matches.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> raise_patterns(Graph& graph, PassContext& context);

}  // namespace qc
