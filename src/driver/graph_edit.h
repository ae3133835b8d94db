// Edits of a graph by passes from outside the tree: whatever they do, the graph that comes out is
// well formed, or a diagnostic says why it is not.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "quantc/options.h"

namespace qc {

class GraphEdit {
 public:
  explicit GraphEdit(Graph& graph);

  Graph& graph() const { return graph_; }
  /// The value of this number; an error where there is none (any more).
  Result<Value*> find(int64_t number) const;

  Result<Value*> constant(Tensor tensor);
  /// Adds a node at the end. Attributes are text, see TextReader::attr; what is none is a string.
  Result<Node*> insert(const std::string& op, std::vector<Value*> inputs,
                       const std::map<std::string, std::string>& attributes,
                       const std::string& name);
  /// Redirects readers of `from`, but for nodes that `to` depends on: so no edit makes a cycle.
  Result<Ok> replace(Value* from, Value* to);
  Result<Ok> erase(Node* node);

  /// Brings the nodes into an order in which operands come first, otherwise the one they have,
  /// infers all types and verifies.
  Result<Ok> finish();

 private:
  void know(Value* value);
  /// The nodes that `to` is computed by, as far as they may depend on `from`.
  std::unordered_set<const Node*> between(const Value* from, const Value* to) const;
  /// A node's rank is not below that of any node it reads, as long as `ranked_` holds.
  size_t rank(const Node* node) const { return ranks_[node->output()->number()]; }
  void order();

  Graph& graph_;
  std::vector<Value*> known_;  // by number; null for what is gone
  std::vector<size_t> ranks_;  // of nodes, by the number of their first result
  bool ranked_ = true;
};

/// A copy of the model's graph with one form for every spelling.
Result<std::unique_ptr<Graph>> normalised(const Graph& model, const quantc::Options& options);

}  // namespace qc
