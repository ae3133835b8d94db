// merge_slices: what is done alike to parts of one value is done to the value at once.
//
// First views: view(part(x)) = part(view(x)), where parts go through views that are parts of one
// view of the whole (ViewsSlices). Then ops that can be done to neighbouring parts and leave the
// rest (JoinsSlices):
//
//   %q = rotary(slice(%x)), %k = rotary(slice(%x)), %v = slice(%x)
//     ->  %y = rotary(%x) {of queries and keys}, and the parts of %y
//
// Other parts of the value are read from the result too, in which they are as they were. So one
// quantize of all parts can follow: lift_quantize runs once more after this pass. Where such ops
// stand between codes with static scales, codes become floats, and floats codes, of neighbouring
// parts at once, with the scales of each along the axis of the parts. Only values of which parts
// end in codes, or in such an op, are looked at.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> merge_slices(Graph& graph, PassContext& context);

}  // namespace qc
