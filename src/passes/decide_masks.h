// decide_masks: what indices and sizes alone decide is decided now.
//
//   le(j, i), j and i positions:  attention(q, k, v, le(j, i))  ->  attention(q, k, v) {right = 0}
//   attention(q, k, v, ge(i, 0))                                ->  attention(q, k, v)
//   where(ge(i, 0), x, y)                                       ->  expand(x)
//   cast(add(i, 0))                                             ->  cast(i)
//   gather(table, i)                                            ->  slice(table)
//
// Positions are affine in their indices (HasFormula), and so comparisons of them are linear
// inequalities, of which many hold for all sizes or for none. A mask [queries, keys] that is left
// may be a window, which attention has as attributes (TakesMask): then nobody computes or stores
// it. It runs before constants are folded, so that a graph of numbers takes the same form as one of
// free sizes. Every bit stays as it was.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> decide_masks(Graph& graph, PassContext& context);

}  // namespace qc
