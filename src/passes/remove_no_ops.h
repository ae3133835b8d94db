// remove_no_ops: nodes that do nothing, and nodes nobody reads, vanish.
//
//   %1 = reshape(%0) {shape = [2, 3]}   (%0 : f32[2, 3])   ->  readers of %1 read %0
//
// Relies on Node::is_identity().
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> remove_no_ops(Graph& graph, PassContext& context);

}  // namespace qc
