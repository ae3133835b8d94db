// Which nodes calibration writes rules for, which of them share one, and what was said about them
// before.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/calibrate.h"
#include "driver/rules.h"
#include "ir/graph.h"
#include "quant/rule.h"

namespace qc {

/// The first name of a node; empty for none.
std::string name_of(const Node& n);
/// Whether the node's values are watched; only such nodes get rules.
bool gives_f32(const Node& n);
/// An op that multiplies and accumulates, and has an integer form.
bool is_product(Node& n);
/// Operands with values to quantize: f32, neither weights nor a bias, nor parameters of what
/// computes in float.
std::vector<size_t> activations(Node& n);
/// A rule that leaves nothing for calibration to find.
bool is_complete(const RuleSpec& spec);

class RuleTargets {
 public:
  /// Nodes of one op that no rule can tell apart, for they share a name: the layers of one
  /// recurrent node, the products of one attention node. They share a rule.
  struct Group {
    std::vector<Node*> nodes;
    std::vector<std::string> names;
  };

  /// The options must outlive what is made.
  static Result<RuleTargets> create(Graph& graph, const CalibrateOptions& options);

  /// The group of a node that gives f32.
  const Group& group(const Node& n) const { return groups_[group_of_.at(&n)]; }
  /// Whether the options ask for a rule for such a node.
  bool is_meant(Node& n) const;
  /// Whether the node gets a rule if it does not only pass on codes.
  bool has_rule(Node& n) const;
  /// Whether the node gets a rule of its own that may change its weights.
  bool is_changeable(Node& n) const;

  /// What the partial rules say about a node, which they are used for now; null for nothing.
  const RuleSpec* stated(const Node& n) const;
  /// The error for a partial rule that was not used.
  Result<Ok> check_uses() const;

 private:
  struct Said {
    size_t rule = 0;
    RuleSpec spec;
  };
  /// Nodes of a rule that earlier rules took.
  struct Hidden {
    std::optional<size_t> by;  // the rule that took the first of them
    bool excepted = true;      // rules that keep nodes float took all
  };
  explicit RuleTargets(const CalibrateOptions& options)
      : options_(&options), used_(options.partial.size(), false), hidden_(options.partial.size()) {}

  void find_groups(Graph& graph);
  Result<Ok> find_said(Graph& graph);
  void unite(size_t into, size_t from);

  const CalibrateOptions* options_;
  std::vector<Group> groups_;
  std::map<const Node*, size_t> group_of_;
  std::map<const Node*, Said> said_;
  mutable std::vector<bool> used_;  // of the partial rules
  std::vector<Hidden> hidden_;      // the same
};

}  // namespace qc
