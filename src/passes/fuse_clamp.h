// fuse_clamp: fuses a clamp into the op that computes its operand.
//
//   %1 = conv(%0, @w)   %2 = clamp(%1) {lo = 0.0}   ->   %1 = conv(%0, @w) {lo = 0.0}
//
// Relies on the capabilities IsClamp and AbsorbsClamp; the unclamped value must have no other
// reader.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fuse_clamp(Graph& graph, PassContext& context);

}  // namespace qc
