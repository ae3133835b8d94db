// The rules quantc brings: each is a pattern on names and the scales of one kind of quantization.
#pragma once

#include <memory>
#include <string>

#include "quant/rule.h"
#include "quantc/rules.h"

namespace qc {

using quantc::RuleSpec;

/// A key of a rule with what is wrong about it.
struct RuleProblem {
  std::string key, text;
};
/// Whether a static rule may be without the scale of its result, for calibration to find.
enum class Missing : uint8_t { refused, allowed };
/// The first thing wrong with a rule that can be seen without a node.
std::optional<RuleProblem> problem_of(const RuleSpec& spec, Missing missing = Missing::refused);
/// A rule without problems with scales and offsets where it had ranges (min and max).
RuleSpec with_scales(RuleSpec spec);

/// A rule for nodes by name and op, made from checked keys.
class PatternRule : public QuantRule {
 public:
  explicit PatternRule(RuleSpec spec);
  bool matches(const Node& node) const override;
  std::string_view missed_op(const Node& node) const override;
  const SpelledNames* names() const override { return pattern_ ? pattern_->spelled() : nullptr; }
  std::string origin() const override { return spec_.origin; }
  bool is_calibrated() const override { return spec_.calibrated; }

 protected:
  /// A scheme with what all kinds share.
  QScheme scheme_of(QScheme::Kind kind) const;

  RuleSpec spec_;

 private:
  bool matches_names(const Node& node) const;

  std::optional<NamePattern> pattern_, exclude_;  // null for none
};

/// Scales of the result and, where stated, of the operands are given.
class StaticQuantRule final : public PatternRule {
 public:
  using PatternRule::PatternRule;
  Result<QScheme> scheme(const Node& node) const override;
};

/// Scales of activations are computed at run time, one for the whole tensor.
class DynamicQuantRulePerTensor : public PatternRule {
 public:
  using PatternRule::PatternRule;
  Result<QScheme> scheme(const Node& node) const override;
};

/// The same with one scale for each row of the last axis.
class DynamicQuantRulePerToken final : public DynamicQuantRulePerTensor {
 public:
  using DynamicQuantRulePerTensor::DynamicQuantRulePerTensor;
  Result<QScheme> scheme(const Node& node) const override;
};

/// Codes for weights, floats for activations.
class WeightOnlyRule final : public PatternRule {
 public:
  using PatternRule::PatternRule;
  Result<QScheme> scheme(const Node& node) const override;
};

/// Nodes that stay float.
class FloatRule final : public PatternRule {
 public:
  using PatternRule::PatternRule;
  bool quantizes() const override { return false; }
  Result<QScheme> scheme(const Node& node) const override;
};

/// The rule of the kind the keys name; an error at `spec.origin` when one of them is wrong.
Result<std::unique_ptr<QuantRule>> make_rule(const RuleSpec& spec);
/// The scheme of checked keys for a node, whatever nodes the keys name.
Result<QScheme> scheme_for(const RuleSpec& spec, const Node& node);

}  // namespace qc
