// note_rules: matches the rules with the nodes and notes their schemes on the values, before
// anything is fused, so that every node is matched by its own name.
//
//   rule: pattern 'layer1\..*', int8, scale 0.05
//   %1 = conv(%0, @w) loc("layer1.conv")   ->   the same graph, %1 noted
//
// The first rule that matches a node holds. A rule that matches no node, or only nodes that earlier
// rules took, is an error unless the set allows it. Exceptions stand first, so two cases pass:
// rules that keep nodes float took all the nodes of a rule, or calibration found the rule.
#pragma once

#include "passes/pipeline.h"

namespace qc {

Result<bool> note_rules(Graph& graph, PassContext& context);

/// The error for a rule that no node is left for, once all graphs are noted.
Result<Ok> check_rule_uses(const PassContext& context);

}  // namespace qc
