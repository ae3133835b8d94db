// fold_constants: replaces nodes whose results are known by constants.
//
//   %1 = add(@a, @b)                      ->  @1 : f32[2] = [...]
//   %2 = shape(%0)  (of a static shape)   ->  @2 : i64[4] = [1, 3, 224, 224]
//   %3 = transpose(@large)                ->  @3, recorded, computed when the weights are written
//
// Requires that eval is a function of the operands; other ops have kRandom. Small results are
// computed at once. Large results are recorded as a clone of the node, unless the result is much
// larger than its operands.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fold_constants(Graph& graph, PassContext& context);

/// Replaces the results of one node by constants and redirects their readers; the node stays,
/// without readers. False if the node does not fold.
Result<bool> fold_node(Graph& graph, Node* node);

/// The results of a node like `prototype` on constants, as recorded constants.
Result<std::vector<Value*>> record(Graph& graph, const Node& prototype,
                                   const std::vector<Value*>& constants);

}  // namespace qc
