// Folding while importing.
#pragma once

#include "frontends/common/foreign.h"

namespace qc {

/// Replaces nodes after `before` (all when null) by constants where their small operands are
/// constant or their contents are known; `results` follows the replacement.
Result<Ok> fold_new_nodes(Graph& graph, Node* before, Values& results);

}  // namespace qc
