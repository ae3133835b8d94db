// merge_products: products of one operand with constant weights become one, and its parts are read.
//
//   %q = qlinear(%x, @wq)            %1 = qlinear(%x, @wq+@wk)
//   %k = qlinear(%x, @wk)    ->      %q = slice(%1), %k = slice(%1)
//
// Weights are joined when they are written; scales are kept per channel. Every result keeps its
// bits. Slices then sink below views that all parts go through, so that a transpose of the parts
// is one of the whole, and parts that lie side by side after it are not copied. What products must
// have in common, their op says (JoinsProducts).
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> merge_products(Graph& graph, PassContext& context);

}  // namespace qc
