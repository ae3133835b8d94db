// What rules and passes of a program that uses the library see of nodes.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "quantc/rules.h"

namespace quantc {

/// The nodes of one graph, with who reads whom: the inside of NodeView. Inputs and states come
/// first, as nodes of the ops "input" and "state".
struct NodeViews {
  std::vector<NodeView> nodes;  // without a pointer to this
  std::vector<std::vector<size_t>> producers, users;
};

}  // namespace quantc

namespace qc {

/// One node by itself.
quantc::NodeView view_of(const Node& node);
/// All nodes of a graph, then those of its regions; each knows its neighbours.
std::vector<quantc::NodeView> views_of(const Graph& graph);

/// Views of nodes that know their neighbours, for graphs that stay as they are while they are
/// looked at. Those of the last graph are kept.
class NeighbourViews {
 public:
  quantc::NodeView of(const Node& node);

 private:
  struct Last {
    const Graph* graph = nullptr;
    size_t nodes = 0, values = 0;
    bool operator==(const Last&) const = default;
  } last_;
  std::shared_ptr<const quantc::NodeViews> views_;
  std::unordered_map<const Node*, size_t> index_;
};

}  // namespace qc
