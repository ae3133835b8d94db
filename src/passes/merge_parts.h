// merge_parts: what is done alike to neighbouring parts of one value is done to the value at once.
//
//   %q = rotary(slice(%x)), %k = rotary(slice(%x)), %v = slice(%x)
//     ->  %y = rotary(%x) {of queries and keys}, and the parts of %y
//
// Other parts of the value are read from the result too, in which they are as they were. So one
// quantize of all parts can follow. What ops must have in common to be joined they say themselves
// (JoinsParts, src/ir/part_views.h).
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> merge_parts(Graph& graph, PassContext& context);

}  // namespace qc
