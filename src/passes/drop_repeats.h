// drop_repeats: lets ops broadcast their operands instead of reading repeated copies.
//
//   add(x, expand(y))               ->  add(x, y)  where x has the shape of the result
//   attention(q, k, v, expand(m))   ->  attention(q, k, v, m)
//
// Relies on kRepeats, kBroadcasts and RepeatsOperands. The repeated copy is then never in memory.
// Results stay bit-identical. The pass runs after the contract graph, because earlier passes fold
// small constants differently from large ones.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> drop_repeats(Graph& graph, PassContext& context);

}  // namespace qc
