// merge_products: products of one operand with constant weights become one, and its parts are read.
//
//   %q = qlinear(%x, @wq)            %1 = qlinear(%x, @wq+@wk)
//   %k = qlinear(%x, @wk)    ->      %q = slice(%1), %k = slice(%1)
//
// Weights are joined when they are written; scales are kept per channel. Every result keeps its
// bits. What products must have in common, their op says (JoinsProducts). The pass merge_slices
// then deals with the parts.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> merge_products(Graph& graph, PassContext& context);

}  // namespace qc
