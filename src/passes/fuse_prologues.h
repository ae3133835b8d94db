#pragma once

#include "passes/pipeline.h"

namespace qc {

/// What is done to an operand becomes part of the op that reads it (src/ir/prologue.h):
///   %3 = rms_norm(%0, %1) {eps = 1e-06}
///   %4 = rotary(%3, %2, %2)                                   becomes
///   %4 = rotary(%0, %2, %2, %1) {norm = true, eps = 1e-06}
/// The op says whether it can, and builds the node. No bit changes.
Result<bool> fuse_prologues(Graph& graph, PassContext& context);

}  // namespace qc
