// What `verify` (ir/graph.h) checks, in parts.
#pragma once

#include "ir/graph.h"

namespace qc {

/// All that `verify` checks but types: use lists, order, isolated regions. It holds even where a
/// budget or memory ended a pass half-way.
Result<Ok> verify_links(const Graph& graph);

}  // namespace qc
