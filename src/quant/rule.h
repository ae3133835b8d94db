// QuantRule: what a user extends to say how nodes are quantized. A rule matches nodes by what can
// be seen of them and gives scales and types; ops build their quantized forms themselves, so a rule
// knows no op and an op no rule.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "quant/name_pattern.h"
#include "quant/scheme.h"

namespace qc {

class QuantRule {
 public:
  virtual ~QuantRule() = default;
  /// Whether the rule is for this node: its names (`node.loc().names`), op, attributes and types.
  virtual bool matches(const Node& node) const = 0;
  /// Names of which a node must have one to match; null where only `matches` knows.
  virtual const SpelledNames* names() const { return nullptr; }
  /// The scheme of a node that matches.
  virtual Result<QScheme> scheme(const Node& node) const = 0;
  /// The op that the rule names, if the node matches in all but its op; else empty.
  virtual std::string_view missed_op(const Node&) const { return {}; }
  /// False where all nodes that it matches stay float.
  virtual bool quantizes() const { return true; }
  /// Where the rule stands, for messages: "rules.toml:12".
  virtual std::string origin() const = 0;
  /// Whether calibration found it for nodes that rules before it may take.
  virtual bool is_calibrated() const { return false; }
};

/// Rules in order: the first that matches a node holds.
struct RuleSet {
  std::vector<std::unique_ptr<QuantRule>> rules;
  std::string file;           // for messages
  bool allow_unused = false;  // rules that match nothing are no errors
};

}  // namespace qc
