// Patterns and rewrites as values. A pattern describes a small tree of nodes with one root; a
// rewrite replaces the root's value. Op folders register the rewrites that bring decomposed
// spellings of their op back to it; passes apply them without knowing any op.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace qc {

/// What a match bound: values by slot name, nodes by slot name.
class Match {
 public:
  Value* value(std::string_view slot) const;
  Node* node(std::string_view slot) const;
  bool has(std::string_view slot) const { return values_.find(slot) != values_.end(); }
  /// The single element of a bound constant value, as double; nullopt when it is not one.
  std::optional<double> scalar(std::string_view slot) const;
  Node* root() const { return root_; }
  /// Names of all matched nodes joined, for the replacement.
  Loc loc() const;

 private:
  friend class Pattern;
  friend class RewriteTable;
  std::map<std::string, Value*, std::less<>> values_;
  std::map<std::string, Node*, std::less<>> nodes_;
  std::vector<Node*> matched_;
  Node* root_ = nullptr;
};

/// A pattern value. `op("mul", {any("x"), op("sigmoid", {any("x")})})` matches x * sigmoid(x):
/// the same slot name must bind the same value.
class Pattern {
 public:
  static Pattern any(std::string slot);
  /// A constant; with `value`, a constant whose elements all equal it (to 1e-6 relative).
  static Pattern constant(std::string slot, std::optional<double> value = std::nullopt);
  static Pattern op(std::string name, std::vector<Pattern> inputs, std::string slot = {});
  /// Any of these (tried in order).
  static Pattern either(std::vector<Pattern> options);
  /// The sub-pattern, or directly the value it would have as its first operand: an optional step.
  static Pattern maybe(std::string name, Pattern input);
  /// Further condition on the matched node.
  Pattern when(std::function<bool(const Node&)> condition) &&;

  /// Matches the tree whose root is `node`. Inner nodes must have no other readers.
  bool match(Node* node, Match& match) const;
  /// Ops the root can be, for indexing; empty when the pattern is not an op.
  std::vector<std::string> roots() const;

 private:
  enum class Kind { any, constant, op, either, maybe };
  bool match_value(Value* value, Match& match) const;
  bool match_node(Node* node, Match& match) const;
  Kind kind_ = Kind::any;
  std::string name_, slot_;
  std::optional<double> number_;
  std::vector<Pattern> parts_;
  std::function<bool(const Node&)> condition_;
};

/// Builds the replacement of the root's output 0 before the root; a null value means "not here".
using RewriteFn = Result<Value*> (*)(Graph&, const Match&);

struct Rewrite {
  std::string_view name;
  Pattern pattern;
  RewriteFn build;
};

class RewriteTable {
 public:
  void add(std::span<const Rewrite> rewrites);
  /// Rewrites whose root can be `op`, in registration order.
  std::span<const Rewrite* const> for_root(std::string_view op) const;
  const std::vector<std::unique_ptr<Rewrite>>& all() const { return all_; }

 private:
  std::vector<std::unique_ptr<Rewrite>> all_;
  std::map<std::string, std::vector<const Rewrite*>, std::less<>> by_root_;
};

RewriteTable& rewrite_table();

}  // namespace qc
