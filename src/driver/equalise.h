// What calibration may change in weights before they become codes. Both write numbers into the rule
// file; the model itself stays as it is.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "driver/watch.h"
#include "ir/graph.h"
#include "quant/scheme.h"

namespace qc {

/// Multipliers of one node's weights.
struct Multipliers {
  std::vector<double> output, input;
};
using Changes = std::map<const Node*, Multipliers>;

/// Cross-layer equalisation: where a weighted node alone reads another, whose result is not limited
/// or only to 0 and above, channels trade size until both have weights of like range. Only nodes
/// whose rules can say so (`changeable`) take part. The answer of the graph, which is changed,
/// stays the same up to rounding.
Result<Changes> equalise(Graph& graph, const std::function<bool(Node&)>& changeable);

/// Operand 0 of every node with weights and a bias, with the axis of its channels.
std::set<ChannelAxis> weighted_inputs(const Graph& graph);
/// What to add to the bias so that rounding the weights does not move the mean of the result; empty
/// for a node without weights, and where no f32 holds it.
Result<std::vector<double>> mean_weight_error(Graph& graph, Node& node, const WeightScheme& scheme,
                                              const Watched& watched);

}  // namespace qc
