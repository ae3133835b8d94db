#pragma once

#include "passes/pipeline.h"

namespace qc {

/// Fuses an op into the only op that reads its result (src/ir/prologue.h):
///   %3 = rms_norm(%0, %1) {eps = 1e-06}
///   %4 = rotary(%3, %2, %2)                                   becomes
///   %4 = rotary(%0, %2, %2, %1) {norm = true, eps = 1e-06}
/// The reader decides whether it can and builds the fused node. Results stay bit-identical.
Result<bool> fuse_prologues(Graph& graph, PassContext& context);

}  // namespace qc
