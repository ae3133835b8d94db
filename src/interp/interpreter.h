// The reference interpreter: runs a graph node by node, by plain loops or by such as give their
// bits; what it computes on the contract graph is what every other way of running must give, bit
// for bit.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "interp/eval.h"
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
  EvalHow how = {};
};

/// Runs a graph. Inputs must fit the graph's input types; free dimensions of these get the sizes of
/// the inputs.
Result<RunResult> interpret(const Graph& graph, const std::vector<Tensor>& inputs,
                            const RunOptions& options = {});

/// Numbers for the symbols in the graph's input types that make them fit `inputs`, or an error
/// naming the input, dim and sizes that disagree.
Result<Bindings> bindings_for(const Graph& graph, const std::vector<Tensor>& inputs);
/// The same for shapes of inputs.
Result<Bindings> bindings_for(const Graph& graph, const std::vector<std::vector<int64_t>>& shapes);

/// A copy of a graph with numbers for its free dimensions, and the node that each of its nodes is a
/// copy of.
struct BoundCopy {
  std::unique_ptr<Graph> graph;
  std::unordered_map<const Node*, const Node*> originals;
  /// The value that a node's result in the copy stands for.
  const Value& original(const Value& result) const;
};
Result<BoundCopy> bound_copy(const Graph& graph, const Bindings& sizes);

}  // namespace qc
