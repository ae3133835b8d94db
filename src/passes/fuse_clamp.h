// fuse_clamp: an op limits its own result instead of leaving it to a clamp after it.
//
//   %1 = conv(%0, @w)   %2 = clamp(%1) {lo = 0.0}   ->   %1 = conv(%0, @w) {lo = 0.0}
//
// Relies on the capabilities IsClamp and AbsorbsClamp, and on the unlimited value having no other
// reader.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fuse_clamp(Graph& graph, PassContext& context);

}  // namespace qc
