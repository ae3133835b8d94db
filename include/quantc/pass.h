// Passes of one's own: a view of the graph and a few edits. docs/cpp-api.md has an example.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quantc/array.h"
#include "quantc/diagnostic.h"
#include "quantc/rules.h"

namespace quantc {

/// A value of the graph that a pass works on: an input, a constant or a result of a node.
using ValueId = int64_t;
/// An operand that is left out.
inline constexpr ValueId kNoValue = -1;

struct ValueView {
  std::string name;                // the model's; may be empty
  std::string type;                // "f32"
  std::vector<std::string> shape;  // sizes that depend on a symbol are text
  bool constant = false;
  /// How many operands of nodes and outputs of the graph read it.
  int64_t readers = 0;
};

/// A node with what it reads and what it makes.
struct GraphNode : NodeView {
  std::vector<ValueId> inputs, outputs;
};

/// The graph of a pass, for as long as the pass runs. Where an inserted node stands is nobody's
/// concern: nodes are brought into an order afterwards.
class GraphEditor {
 public:
  /// All nodes as they are now.
  std::vector<GraphNode> nodes() const;
  std::vector<ValueId> inputs() const;
  std::vector<ValueId> outputs() const;
  Expected<ValueView> value(ValueId value) const;
  /// The elements of a constant.
  Expected<Array> elements(ValueId constant) const;

  Expected<ValueId> constant(const ArrayView& array);
  /// Adds a node (docs/ops.md lists the ops) and returns its results. Attributes are text as in the
  /// graph's text form; strings may be without quotes. The name is what rules match; without one
  /// the node has the names of what made its first operand.
  Expected<std::vector<ValueId>> insert(const std::string& op, const std::vector<ValueId>& inputs,
                                        const std::map<std::string, std::string>& attributes = {},
                                        const std::string& name = "");
  /// Makes all readers of `from` read `to`, except for the nodes that compute `to`.
  Expected<Done> replace(ValueId from, ValueId to);
  /// Removes the node that makes this value; its results must have no readers.
  Expected<Done> erase(ValueId result);

 private:
  friend class Model;
  struct State;
  explicit GraphEditor(State& state) : state_(state) {}
  State& state_;
};

/// Base of passes of one's own: see Model::transform.
class Pass {
 public:
  virtual ~Pass() = default;
  /// How messages call it.
  virtual std::string name() const = 0;
  /// Called for the graph, then for each body of branches and loops.
  virtual Expected<Done> run(GraphEditor& graph) const = 0;
};

}  // namespace quantc
