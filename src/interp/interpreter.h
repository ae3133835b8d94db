// The reference interpreter: runs a graph node by node, by plain loops or by such as give their
// bits; what it computes on the contract graph is what every other way of running must give, bit
// for bit.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace qc {

struct RunResult {
  std::vector<Tensor> outputs;
  std::vector<Tensor> states;  // after the run
};

struct RunOptions {
  /// State to start from; empty means each state's initial constant.
  std::vector<Tensor> states;
  /// Called with every computed value, in order.
  std::function<void(const Value&, const Tensor&)> observe;
  /// Every node is evaluated by its `eval`, also where a faster evaluation stands beside it.
  bool plain = false;
};

/// Runs a graph. Inputs must fit the graph's input types; free dimensions of these get the sizes of
/// the inputs.
Result<RunResult> interpret(const Graph& graph, const std::vector<Tensor>& inputs,
                            const RunOptions& options = {});

/// Numbers for the symbols in the graph's input types that make them fit `inputs`, or an error
/// naming the input, dim and sizes that disagree.
Result<Bindings> bindings_for(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace qc
