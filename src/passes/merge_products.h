// merge_products: merges products of one operand with constant weights; readers take slices of the
// merged product.
//
//   %q = qlinear(%x, @wq)            %1 = qlinear(%x, @wq+@wk)
//   %k = qlinear(%x, @wk)    ->      %q = slice(%1), %k = slice(%1)
//
// Weights are concatenated when they are written; scales stay per channel. Results stay
// bit-identical. The op defines which products can be merged (JoinsProducts). The pass merge_slices
// then handles the slices.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> merge_products(Graph& graph, PassContext& context);

}  // namespace qc
