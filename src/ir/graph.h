// Graph: owns nodes and values; everyone else borrows. All mutation goes through it, so use lists
// and order are always right. A graph is functional: values are never written twice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/constant.h"
#include "ir/dot.h"
#include "ir/guard.h"
#include "ir/node.h"

namespace qc {

struct Output {
  std::string name;
  Value* value = nullptr;
};

/// A mutable buffer of the model: read as `in` at the start of a run, `out` is its value after it.
struct State {
  std::string name;
  Value* in = nullptr;
  Value* out = nullptr;
  ConstId initial = 0;
};

/// Range of a symbolic dim as the model states it.
struct DimRange {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> hint;
  int64_t step = 1;  // only min, min + step, ...
};

class Graph {
 public:
  explicit Graph(std::shared_ptr<ConstantPool> pool = std::make_shared<ConstantPool>());
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  std::string file;                            // the model file, for messages
  std::map<std::string, DimRange> dim_ranges;  // by symbol
  std::vector<DimGuard> guards;                // relations of sizes that must hold
  DotStep dot = DotStep::fma;                  // of every float dot product; regions have it too

  /// What the symbols with ranges may be.
  SymbolBounds symbol_bounds() const;
  /// The largest that a size can be; INT64_MAX where nothing bounds it.
  int64_t largest(const Dim& size) const {
    return size.is_static() ? size.value() : size.bounds(symbol_bounds()).max;
  }

  ConstantPool& pool() const { return *pool_; }
  const std::shared_ptr<ConstantPool>& shared_pool() const { return pool_; }
  /// An empty graph for a region of one of this graph's nodes.
  std::unique_ptr<Graph> new_region() const;
  /// Sets `dot` here and in every region.
  void set_dot(DotStep step);

  Value* add_input(std::string name, Type type);
  void add_output(std::string name, Value* value);
  /// Adds a state slot and returns its `in` value; set the final value with `set_state_out`.
  Value* add_state(std::string name, ConstId initial);
  void set_state_out(size_t i, Value* value);
  /// Makes an input a constant of its type, which readers read instead.
  void freeze_input(Value* input, Tensor tensor);
  /// Turns every state into an input and an output of its name, after those the graph has; a name
  /// that is taken gets `_state` appended.
  void expose_states();
  void set_output(size_t i, Value* value);
  const std::vector<Value*>& inputs() const { return input_list_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<State>& states() const { return states_; }

  /// The value of a constant, of codes with what they mean; one per constant, format and graph.
  Value* constant(ConstId id, std::shared_ptr<const Format> format = nullptr);
  Value* constant(Tensor tensor, std::string name = {});

  /// Adds a node before `before` (at the end when null), infers and sets its output types.
  Result<Node*> add(std::unique_ptr<Node> node, std::vector<Value*> inputs, Loc loc,
                    Node* before = nullptr);
  /// Adds a node of a registered op by name, with attributes by name; returns output 0.
  Result<Value*> emit(std::string_view op, std::vector<Value*> inputs, const AttrMap& attrs,
                      Loc loc, Node* before = nullptr);

  /// Redirects every reader of `from`, outputs and state included, to `to`, which takes over the
  /// note of `from` where there is one.
  void replace_uses(Value* from, Value* to);
  void set_input(Node* node, size_t i, Value* value);
  /// Replaces the whole operand list.
  void set_inputs(Node* node, std::vector<Value*> inputs);
  /// Infers the node's types anew after a change of operands or attributes.
  Result<Ok> reinfer(Node* node);
  void set_loc(Node* node, Loc loc) { node->loc_ = std::move(loc); }
  void set_type(Value* value, Type type) { value->type_ = std::move(type); }
  void set_name(Value* value, std::string name) { value->name_ = std::move(name); }
  /// Attaches the number of a quantization scheme to a value: see quant/notes.h.
  void set_note(Value* value, int note) { value->note_ = note; }
  /// Moves the node before `before` (to the end when null). The caller keeps the order topological.
  void move(Node* node, Node* before);
  /// Removes a node whose outputs nobody reads.
  void erase(Node* node);
  /// Removes every node whose outputs nobody reads, transitively, also in regions.
  void sweep();

  Node* first() const { return first_; }
  Node* last() const { return last_; }
  size_t node_count() const { return count_; }
  /// Numbers of values are below this.
  size_t value_bound() const { return value_bound_; }
  /// False when no node that was ever added has regions.
  bool may_have_regions() const { return may_have_regions_; }
  /// All nodes in order, as a list that stays valid while the graph changes.
  std::vector<Node*> nodes() const;

  /// Replaces symbols by numbers in every type, attribute and region, then infers all types anew.
  /// Refuses sizes that a guard excludes.
  Result<Ok> bind(const Bindings& bindings);
  /// An error for the first guard that is false with these sizes; one that stays open is no error.
  Result<Ok> check_guards(const Bindings& bindings = {}) const;
  /// Symbols that occur in input types.
  std::vector<std::string> symbols() const;

 private:
  friend class Node;
  Value* new_value(Type type);
  void init(Value& value, Type type);
  void link(Use& use, Value* value);
  void unlink(Use& use);
  void insert(Node* node, Node* before);
  void detach(Node* node);

  std::shared_ptr<ConstantPool> pool_;
  std::vector<std::unique_ptr<Value>> free_values_;  // inputs, constants, state
  std::vector<Value*> input_list_;
  std::vector<Output> outputs_;
  std::vector<State> states_;
  std::map<ConstId, std::vector<Value*>> constants_;  // one for each format
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  size_t count_ = 0;
  uint32_t value_bound_ = 0;
  bool may_have_regions_ = false;
};

/// Calls `visit` on the graph and on every region below it.
template <class F>
void for_each_graph(Graph& graph, F&& visit) {
  visit(graph);
  if (!graph.may_have_regions()) return;
  for (Node* n = graph.first(); n; n = n->next()) {
    for (const auto& region : n->regions()) for_each_graph(*region, visit);
  }
}

/// Checks every invariant of the graph: use lists, order, types as inferred, isolated regions.
Result<Ok> verify(const Graph& graph);

/// A deep copy that shares the constant pool.
Result<std::unique_ptr<Graph>> copy(const Graph& graph);

}  // namespace qc
