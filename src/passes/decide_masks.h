// decide_masks: evaluates masks and comparisons that depend on indices and sizes only.
//
//   le(j, i), j and i positions:  attention(q, k, v, le(j, i))  ->  attention(q, k, v) {right = 0}
//   attention(q, k, v, ge(i, 0))                                ->  attention(q, k, v)
//   where(ge(i, 0), x, y)                                       ->  expand(x)
//   cast(add(i, 0))                                             ->  cast(i)
//   gather(table, i)                                            ->  slice(table)
//
// Positions are affine in their indices (HasFormula), so comparisons of positions are linear
// inequalities; many hold for all sizes or for none. A remaining mask [queries, keys] may be a
// window. Attention has windows as attributes (TakesMask), so the mask is neither computed nor
// stored. The pass runs before constants are folded, so that static and free sizes give the same
// graph. Results stay bit-identical.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> decide_masks(Graph& graph, PassContext& context);

}  // namespace qc
