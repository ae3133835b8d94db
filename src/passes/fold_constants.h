// fold_constants: nodes whose results are known become constants.
//
//   %1 = add(@a, @b)                      ->  @1 : f32[2] = [...]
//   %2 = shape(%0)  (of a static shape)   ->  @2 : i64[4] = [1, 3, 224, 224]
//   %3 = transpose(@large)                ->  @3, recorded, computed when the weights are written
//
// Relies on eval being a function of the operands (ops that are not carry kRandom). Small results
// are computed at once; large ones are recorded over a clone of the node, unless the result would
// be much larger than what it is made of.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> fold_constants(Graph& graph, PassContext& context);

/// Makes constants of the results of one node where that is possible and redirects its readers; the
/// node stays behind, unread. False when the node does not fold.
Result<bool> fold_node(Graph& graph, Node* node);

/// The results of a node like `prototype` on constants, as recorded constants.
Result<std::vector<Value*>> record(Graph& graph, const Node& prototype,
                                   const std::vector<Value*>& constants);

}  // namespace qc
