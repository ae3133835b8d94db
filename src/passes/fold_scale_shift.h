// fold_scale_shift: folds batch norms, biases and per-channel factors into neighbouring weights.
//
//   %1 = conv(%0, @w)   %2 = batch_norm(%1, ...)   ->   %1 = conv(%0, @w', @b')
//   %1 = linear(%0, @w) %2 = add(%1, @bias)        ->   %1 = linear(%0, @w, @bias)
//   %1 = batch_norm(%0) %2 = conv(%1, @w)          ->   %2 = conv(%0, @w', @b')  where padding
//   allows
//
// Relies on the capabilities IsScaleShift and AbsorbsScaleShift; the value between the two nodes
// must have no other reader. The new weights are recorded transforms, so weights that other nodes
// share do not change.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fold_scale_shift(Graph& graph, PassContext& context);

}  // namespace qc
