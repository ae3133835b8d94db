// store_tables: what follows from a size alone is stored for the largest one, and read in part.
//
//   %1 : f32[seq, 4] = cos(mul(cast(iota() {size = seq}), @freq))
//     -> @1 : f32[512, 4], %1 : f32[seq, 4] = slice(@1) {start = [0, 0], size = [seq, 4]}
//
// A graph of numbers has such tables among its constants, so that no run computes them and no arena
// holds them. Relies on padding (ir/padding.h): a copy of the nodes with the dimension fixed to its
// largest size has the bits of every smaller one before what is padding, which the ops themselves
// prove; nodes that cannot be padded, or that need the run's own size for it, are left alone. So
// are tables that are large, and those whose part would have to be copied. It keeps every bit.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> store_tables(Graph& graph, PassContext& context);

}  // namespace qc
