// note_rules: matches rules with nodes and notes their schemes on the values. It runs before
// fusion, so each node is matched by its own name.
//
//   rule: pattern 'layer1\..*', int8, scale 0.05
//   %1 = conv(%0, @w) loc("layer1.conv")   ->   the same graph, %1 noted
//
// The first rule that matches a node applies. A rule without a node left is an error unless the set
// allows it. Two cases are no errors, because exceptions come first: float rules matched all nodes
// of the rule, or calibration wrote the rule.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> note_rules(Graph& graph, PassContext& context);

/// The error for a rule that no node is left for, once all graphs are noted.
Result<Ok> check_rule_uses(const PassContext& context);

}  // namespace qc
