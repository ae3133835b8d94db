// fold_relayouts: a relayout goes into the product of codes after it or the conversion before it.
//
//   relayout(quantize(x))             ->  quantize(x) {layout}
//   relayout(dequantize(x))           ->  dequantize(x) {layout}
//
// where nothing else reads what the conversion writes: each element is converted alike and is put
// where it belongs at once (WritesLayout). This is how networks begin and end.
//
//   qlinear(reshape(relayout(x)), w)  ->  qlinear(reshape(transpose(x)), w with its columns
//   permuted)
//
// where x is channels-last and the reshape makes one row of all channels and positions of an image,
// as between the last convolution or pool of a network and its classifier. The transpose describes
// the order in which the bytes lie anyway, so nothing is moved when the program runs; the weights
// are permuted at compile time.
//
// Only sums that are exact may be taken in another order (AccumulatesInAnyOrder). A sum of floats
// is rounded at each term: in another order it has other bits, so the relayout in front of a float
// product stays. Runs after assign_layouts.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fold_relayouts(Graph& graph, PassContext& context);

}  // namespace qc
