// merge_slices: merges equal ops on slices of one value into one op on the whole value.
//
// 1. Views move past slices (ViewsSlices): view(slice(x)) = slice(view(x)).
// 2. Equal ops on adjacent slices merge if they can leave the other elements unchanged
//    (JoinsSlices):
//
//   %q = rotary(slice(%x)), %k = rotary(slice(%x)), %v = slice(%x)
//     ->  %y = rotary(%x) {of queries and keys}, and the slices of %y
//
// The remaining slices read the merged result, where their elements are unchanged. One quantize of
// the whole value can then follow, so lift_quantize runs once more after this pass. Between codes
// with static scales, adjacent slices are also dequantized and quantized together, with per-slice
// scales along the sliced axis. The pass looks only at values with a slice that ends in codes or in
// such an op.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> merge_slices(Graph& graph, PassContext& context);

}  // namespace qc
