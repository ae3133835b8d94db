// Where a pass adds nodes.
#pragma once

#include "ir/node.h"

namespace qc {

class Graph;

/// New nodes go before `before` and carry the location `loc`.
struct InsertPoint {
  Graph& graph;
  Loc loc;
  Node* before = nullptr;  // null: at the end of the graph
};

}  // namespace qc
