// drop_repeats: operands are repeated by the op that reads them.
//
//   add(x, expand(y))               ->  add(x, y)  where x has the shape of the result
//   attention(q, k, v, expand(m))   ->  attention(q, k, v, m)
//
// Relies on kRepeats, kBroadcasts and RepeatsOperands. What was repeated is then never in memory.
// It keeps every bit, and comes after the contract graph, since what passes before it make of a
// small constant they may not make of a large one.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> drop_repeats(Graph& graph, PassContext& context);

}  // namespace qc
