// The rules of a compilation: own classes, values and the rule file together.
#pragma once

#include "quant/rule.h"
#include "quantc/options.h"

namespace qc {

/// A rule as the options state it: a class of the program, or keys.
struct StatedRule {
  std::shared_ptr<const quantc::Rule> own;  // null: `spec` is the rule
  quantc::RuleSpec spec;                    // has an origin
  bool may_be_unused = false;               // beside what the options allow
};
/// The rules the options name, in the order they are tried: the program's own classes, its values,
/// then those of the file. Empty when there are none.
Result<std::vector<StatedRule>> stated_rules(const quantc::Options& options);
/// The same as what nodes are matched with.
Result<RuleSet> rule_set(const quantc::Options& options);

/// An error where the rule is for an op that there is none of.
Result<Ok> check_op(const quantc::RuleSpec& spec);

}  // namespace qc
