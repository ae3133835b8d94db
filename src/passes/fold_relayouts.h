// fold_relayouts: folds a relayout into the integer product after it or the conversion before it.
//
//   relayout(quantize(x))             ->  quantize(x) {layout}
//   relayout(dequantize(x))           ->  dequantize(x) {layout}
//
// if the conversion has no other reader: the conversion writes elements in the new layout at once
// (WritesLayout). Networks begin and end with these.
//
//   qlinear(reshape(relayout(x)), w)  ->  qlinear(reshape(transpose(x)), w with its columns
//   permuted)
//
// if x is channels-last and the reshape flattens channels and positions of an image into one row,
// as between the last convolution or pool of a network and its classifier. The transpose matches
// the order of bytes in memory, so a run moves nothing; weights are permuted at compile time.
//
// Only exact sums may change their order (AccumulatesInAnyOrder). Float sums round at each term and
// depend on the order, so a relayout before a float product stays. Runs after assign_layouts.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fold_relayouts(Graph& graph, PassContext& context);

}  // namespace qc
