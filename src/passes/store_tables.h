// store_tables: stores tables that depend on a size only, computed for its maximum, and slices
// them.
//
//   %1 : f32[seq, 4] = cos(mul(cast(iota() {size = seq}), @freq))
//     -> @1 : f32[512, 4], %1 : f32[seq, 4] = slice(@1) {start = [0, 0], size = [seq, 4]}
//
// With static sizes such tables are folded constants: no run computes them, no arena holds them.
// Relies on padding (ir/padding.h): with the dimension fixed to its maximum, the nodes compute the
// bits of every smaller size before the padding, as the ops prove. The pass skips nodes that cannot
// be padded or need the size of the run, large tables, and tables whose slice would be copied.
// Results stay bit-identical.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> store_tables(Graph& graph, PassContext& context);

}  // namespace qc
